"""Costly line: one line of your own code takes much of the step, outside the model's arithmetic.

Condition: host samples of one line (outside the model: of one call in the loop) that a way can win back are at
    least 5 % of the step after the update, in hooks and for waits (or 2.5 %, where the middle of the interval is at
    least 10 %), 10 % elsewhere. The way follows from samples, from what windows learnt of the line (`line_facts`),
    from its calls and its text (`line_signs`).
Saving: the part that the way wins back (`sonde.insights.ways`).
Not for: arithmetic, memory traffic and dispatch of the model itself, unless its result is thrown away, and time that
    a narrower rule claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.kinds import CODES, KINDS, NAMES, PER_CALL
from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.cards import kind_of
from sonde.insights.line_signs import loops_at, signs_of, thrown_away
from sonde.insights.model import Confidence, Evidence, Experiment, Insight
from sonde.insights.roles import ROLES, Roles, roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Host, Subject
from sonde.insights.ways import Way, way_of

LEAST_SHARE, LEAST_BESIDE, LEAST_PLAIN = 0.10, 0.05, 0.3
MOST_CARDS = 4
_WORK = ("arithmetic", "memory", "dispatch", "autograd", "allocation", "barriers", "unseen", "taken")
_BESIDE = ("hook", "after")
_HARMLESS = ("copies", "gather", "random")  # in the backward pass, unless the forward pass has as much of it
LEAST_FORWARD = 0.03


@dataclass(frozen=True)
class Group:
    """Host samples that one change would win back."""

    claim: Mask
    kind: str  # with most time
    role: str
    place: Place


def judge(subject: Subject) -> Iterator[Finding]:
    host, part = subject.host, roles(subject)
    kind = subject.host_kinds
    who = subject.caused
    place = who.place
    turning = loops_at(subject, kind, place)
    spent = _avoidable(kind, part) | thrown_away(subject, place) | turning
    spent |= _in_its_backward(kind, place, spent, who.moved, host)
    spent &= place != _nobody(who.all)
    spent &= ~_inside_the_library(subject, kind)
    if subject.crowded:
        spent &= ~host.pool
    keys = np.where(np.isin(place, np.unique(place[turning])), _functions(who.all)[place], _keys(place, part))
    found = []
    for number in np.unique(keys[spent]).tolist():
        claim = spent & (keys == number)
        group = _group(subject, claim, part, place, who.all)
        share = subject.share(claim)
        beside = group.role in _BESIDE or group.kind in ("sleep", "io", "debugging", "locks")
        plain = (
            group.kind == "memory" and not part.phases
        )  # no model is known: it may be the program's purpose
        least = LEAST_BESIDE if beside else LEAST_PLAIN if plain else LEAST_SHARE
        # Work beside the model often comes in some steps only (a better model is kept): then its share is uncertain.
        by_turns = beside and share.middle >= 2 * least and share.low >= 0.5 * least
        if share.low >= least or by_turns:
            found.append((share.middle, group))
    found.sort(key=lambda pair: -pair[0])
    for _, group in found[:MOST_CARDS]:
        yield _card(subject, group)


def _avoidable(kind: Array, part: Roles) -> Mask:
    """Samples that are no part of what the step must do, by kind and role."""
    work = np.isin(kind, [CODES[k] for k in _WORK])
    beside = part.of("hook", "after")
    feeding = part.of("before") | (part.of("loop") if part.phases else np.zeros(len(kind), np.bool_))
    inside = part.of("backward", "optimizer")
    harmless = np.isin(kind, [CODES[k] for k in (*_HARMLESS, "native", "loading")])
    lost = np.isin(kind, [CODES[k] for k in ("taken", "unseen", "barriers")])
    found: Mask = (beside & ~lost) | (feeding & ~lost) | (~work & ~(inside & harmless))
    if not part.phases:
        found |= kind == CODES["memory"]
    found &= kind != CODES["loading"]
    return found


def _in_its_backward(kind: Array, place: Array, spent: Mask, moved: Mask, host: Host) -> Mask:
    """The backward part of what a line's forward part is blamed for: the same kinds, where both are known."""
    harmless = moved & np.isin(kind, [CODES[k] for k in _HARMLESS])
    found = np.zeros(len(kind), np.bool_)
    for number in np.unique(place[harmless]).tolist():
        for one in np.unique(kind[harmless & (place == number)]).tolist():
            forward = spent & (place == number) & (kind == one)
            if float(host.weight[forward].sum()) >= LEAST_FORWARD * host.whole_ns:
                found |= harmless & (place == number) & (kind == one)
    return found


def _inside_the_library(subject: Subject, kind: Array) -> Mask:
    """Overhead of torch's own modules that the line calls: no line of the user's can change it."""
    index = subject.stacks
    modules = index.frames_where(layer="^module$")
    inner = index.innermost(index.users_python | modules)
    below = np.append(np.append(modules, False)[inner], False)[subject.host.stack]
    per_call: Mask = np.isin(kind, [CODES[k] for k in PER_CALL]) & below
    return per_call


def _keys(place: Array, part: Roles) -> Array:
    """One number per group: in the loop all that one of its lines calls, else one line. A loop inside is apart."""
    site = np.where(part.of("after", "before", "loop") & (part.site >= 0), part.site, -1)
    return np.where(site >= 0, -site - 2, place)


def _functions(places: tuple[Place, ...]) -> Array:
    """For each place the first place of its function: the lines of a loop are one cost."""
    first: dict[tuple[str, str], int] = {}
    return np.array([first.setdefault((p.file, p.function), n) for n, p in enumerate(places)], np.int64)


def _nobody(places: tuple[Place, ...]) -> int:
    return next((n for n, p in enumerate(places) if not p.file and not p.function), -1)


def _group(subject: Subject, claim: Mask, part: Roles, place: Array, places: tuple[Place, ...]) -> Group:
    weight = subject.host.weight

    def most(codes: Array) -> int:
        return int(np.bincount(codes[claim], weight[claim]).argmax())

    return Group(claim, kind_of(subject, claim), ROLES[most(part.code)], places[most(place)])


def _card(subject: Subject, group: Group) -> Finding:
    share = subject.share(group.claim)
    way = way_of(signs_of(subject, group.claim, group.kind, group.role, group.place))
    lines = subject.lines(group.claim, 3)
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{group.place.label}: {share.middle:.0%} of each step, mostly {KINDS[group.kind]} ({way.name})",
            why=f"A guess, by the kind of work: {way.why}" if way.guess else way.why,
            evidence=(
                Evidence(f"{_split(subject, group.claim)}, {_when(group.role)}"),
                *lines,
            ),
            saving=subject.saving(share, *way.won),
            confidence=_confidence(way, share.low),
            fix=way.fix.format(place=_short(group.place)),
            experiment=Experiment("patch", note="compare the results of both versions"),
            way=way.name,
        ),
        group.claim,
    )


def _confidence(way: Way, low: float) -> Confidence:
    return "low" if way.won[0] < 0 or way.guess else "high" if low >= 2 * LEAST_SHARE else "medium"


def _short(place: Place) -> str:
    return f"{place.file.rpartition('/')[2]}:{place.line}" if place.line > 0 else place.function


def _when(role: str) -> str:
    return {
        "hook": "in a hook that torch calls around the model",
        "after": "after the update of the model",
        "before": "before the model is called",
        "loop": "outside forward, backward and update",
    }.get(role, f"in the {role} pass" if role != "optimizer" else "in the update")


def _split(subject: Subject, claim: Mask) -> str:
    """`copies and layout 20.1 %, Python 3.0 %` of the step."""
    host = subject.host
    sums = np.bincount(subject.host_work[claim], host.weight[claim], len(KINDS)) / host.whole_ns
    order = [n for n in np.argsort(-sums, kind="stable")[:3].tolist() if sums[n] >= 0.005]
    return ", ".join(f"{KINDS[NAMES[n]]} {sums[n]:.1%}" for n in order) + " of the step"


RULE = Rule("costly_line", 53, "samples in steady steps", judge, scope="cpu", breadth=3)
