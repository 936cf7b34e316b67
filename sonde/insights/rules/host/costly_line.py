"""Costly line: one line of the user's own takes much of the step, and not with the model's arithmetic.

Condition: host samples of one line (outside the model: of one call in the loop) that a way can win back are at
    least 5 % of the step after the update, in hooks and for waits, 10 % elsewhere. Told from samples alone; operator
    calls of windows only say whether the same call repeats.
Saving: the part that the way wins back (`sonde.insights.ways`).
Not for: arithmetic, memory traffic and dispatch of the model itself, and time that a narrower rule claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.kinds import CODES, KINDS, NAMES
from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.model import Confidence, Evidence, Experiment, Insight, NotEnough
from sonde.insights.roles import ROLES, Roles, roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import Way, way_of

LEAST_SHARE, LEAST_BESIDE, LEAST_PLAIN = 0.10, 0.05, 0.3
MOST_CARDS = 4
REPEATS = 8  # equal calls of a line per step: a loop over small work
GROWS, FEWEST = 1.6, 12  # last third against first third, and samples in them
_WORK = ("arithmetic", "memory", "dispatch", "autograd", "allocation", "barriers", "unseen", "taken")
_BESIDE = ("hook", "after")


@dataclass(frozen=True)
class Group:
    """Host samples that one change would win back."""

    claim: Mask
    kind: str  # with most time
    role: str
    place: Place


def judge(subject: Subject) -> Iterator[Finding]:
    judged, host, part = subject.judged_stacks, subject.host, roles(subject)
    kind = subject.host_kinds
    place = judged.places.of_stack[host.stack]
    spent = _avoidable(kind, part) & (place != _nobody(judged.places.all))
    if subject.taken.matters:
        spent &= ~host.pool
    keys = _keys(place, part)
    found = []
    for number in np.unique(keys[spent]).tolist():
        claim = spent & (keys == number)
        group = _group(claim, kind, part, place, judged.places.all, host.weight)
        share = subject.share(claim)
        beside = group.role in _BESIDE or group.kind in ("sleep", "io", "debugging", "locks")
        plain = (
            group.kind == "memory" and not part.phases
        )  # no model is known: it may be the program's purpose
        if share.low >= (LEAST_BESIDE if beside else LEAST_PLAIN if plain else LEAST_SHARE):
            found.append((share.middle, group))
    found.sort(key=lambda pair: -pair[0])
    for _, group in found[:MOST_CARDS]:
        yield _card(subject, group, kind)


def _avoidable(kind: Array, part: Roles) -> Mask:
    """Samples that are no part of what the step must do, by kind and role."""
    work = np.isin(kind, [CODES[k] for k in _WORK])
    beside = part.of("hook", "after")
    feeding = part.of("before") | (part.of("loop") if part.phases else np.zeros(len(kind), np.bool_))
    inside = part.of("backward", "optimizer")
    harmless = np.isin(kind, [CODES[k] for k in ("copies", "gather", "random", "native", "loading")])
    lost = np.isin(kind, [CODES[k] for k in ("taken", "unseen", "barriers")])
    found: Mask = (beside & ~lost) | (feeding & ~lost) | (~work & ~(inside & harmless))
    if not part.phases:
        found |= kind == CODES["memory"]
    found &= kind != CODES["loading"]
    return found


def _keys(place: Array, part: Roles) -> Array:
    """One number per group: in the loop all that one of its lines calls, else one line."""
    site = np.where(part.of("after", "before", "loop") & (part.site >= 0), part.site, -1)
    return np.where(site >= 0, -site - 2, place)


def _nobody(places: tuple[Place, ...]) -> int:
    return next((n for n, p in enumerate(places) if not p.file and not p.function), -1)


def _group(
    claim: Mask, kind: Array, part: Roles, place: Array, places: tuple[Place, ...], weight: Array
) -> Group:
    def most(codes: Array) -> int:
        return int(np.bincount(codes[claim], weight[claim]).argmax())

    return Group(claim, NAMES[most(kind)], ROLES[most(part.code)], places[most(place)])


def _card(subject: Subject, group: Group, kind: Array) -> Finding:
    share = subject.share(group.claim)
    way = way_of(group.kind, group.role, _grows(subject, group.claim), _repeats(subject, group.place))
    lines = subject.lines(group.claim, 3)
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{group.place.label}: {share.middle:.0%} of each step, mostly {KINDS[group.kind]} ({way.name})",
            why=way.why,
            evidence=(
                Evidence(f"{_split(subject, group.claim, kind)}, {_when(group.role)}"),
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
    return "low" if way.won[0] < 0 else "high" if low >= 2 * LEAST_SHARE else "medium"


def _short(place: Place) -> str:
    return f"{place.file.rpartition('/')[2]}:{place.line}" if place.line > 0 else place.function


def _when(role: str) -> str:
    return {
        "hook": "in a hook that torch calls around the model",
        "after": "after the update of the model",
        "before": "before the model is called",
        "loop": "outside forward, backward and update",
    }.get(role, f"in the {role} pass" if role != "optimizer" else "in the update")


def _split(subject: Subject, claim: Mask, kind: Array) -> str:
    """`copies and layout 20.1 %, Python 3.0 %` of the step."""
    host = subject.host
    sums = np.bincount(kind[claim], host.weight[claim], len(KINDS)) / host.whole_ns
    order = [n for n in np.argsort(-sums, kind="stable")[:3].tolist() if sums[n] >= 0.005]
    return ", ".join(f"{KINDS[NAMES[n]]} {sums[n]:.1%}" for n in order) + " of the step"


def _grows(subject: Subject, claim: Mask) -> bool:
    """Whether the time of a step in it rises over the run: thirds of the steady time are compared."""
    if subject.unit != "step":
        return False
    host = subject.host
    time = host.samples.array("time_ns")
    first, last = int(subject.steady.starts[0]), int(subject.steady.ends[-1])
    cuts = np.searchsorted([first + (last - first) // 3, first + 2 * (last - first) // 3], time, "right")
    steps = np.searchsorted(
        [first + (last - first) // 3, first + 2 * (last - first) // 3], subject.step_starts, "right"
    )
    early, late = (
        float(host.weight[claim & (cuts == n)].sum()) / max(int((steps == n).sum()), 1) for n in (0, 2)
    )
    enough = min(int((claim & (cuts == n)).sum()) for n in (0, 2)) >= 3
    return enough and int(claim.sum()) >= FEWEST and late > GROWS * early


def _repeats(subject: Subject, place: Place) -> bool:
    """Whether the line makes the same call with the same shapes many times in a step."""
    try:
        calls = subject.calls
    except NotEnough:
        return False
    ops = calls.ops
    rows = np.flatnonzero(
        (ops.array("line") == place.line) & ops.text("file").equals(place.file) & (calls.parent < 0)
    )
    if not len(rows):
        return False
    keys = np.stack((ops.text("name").codes[rows], ops.text("shapes").codes[rows]), axis=1)
    _, counts = np.unique(keys, axis=0, return_counts=True)
    return bool(counts.max() >= REPEATS * max(calls.steps, 1))


RULE = Rule("costly_line", 53, "samples in steady steps", judge, scope="cpu", breadth=3)
