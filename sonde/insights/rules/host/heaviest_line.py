"""Heaviest line: where nothing else is known, the line that most of the step is spent at, as the first place to look.

Condition: no other card names a line; one line, with its backward pass, surely takes at least 15 % of the step, and
    its floor is not known to be near.
Saving: not known. The card points at a place; a way is told only where the recording has a sign for one.
Not for: programs of which any other rule names a line, and time that other programs took.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sonde.analyze.account.kinds import CODES, KINDS
from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.account import account
from sonde.insights.cards import kind_of
from sonde.insights.floors import headroom
from sonde.insights.line_signs import signs_of
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.roles import ROLES, roles
from sonde.insights.rule import LAST_RESORT, Finding, Rule
from sonde.insights.subject import FEWEST_LOOKS, Subject
from sonde.insights.ways import Way, way_of

LEAST_SHARE = 0.15  # at the lower end of its interval
LEAST_HEADROOM = 0.05  # of the whole: below, nothing is worth changing
_NOBODYS = ("taken", "unseen", "sleep", "waiting")


def judge(subject: Subject) -> Iterator[Finding]:
    divided = account(subject)
    if (known := headroom(subject, divided)).share < LEAST_HEADROOM and known.unknown_ns <= 0:
        return
    who = subject.caused
    counted = ~np.isin(subject.host_kinds, [CODES[k] for k in _NOBODYS])
    own = counted & ~subject.host.pool
    if int(own.sum()) >= FEWEST_LOOKS:
        counted = own  # else waits for the pool tell at least whose parallel regions they belong to
    spent: Array = np.bincount(who.place[counted], subject.host.weight[counted], len(who.all))
    most = int(spent.argmax())
    claim = counted & (who.place == most)
    share, place = subject.share(claim), who.all[most]
    if share.low < LEAST_SHARE or place.line <= 0:
        return
    kind = kind_of(subject, claim & own if (claim & own).any() else claim)
    part = roles(subject).code[claim]
    role = ROLES[int(np.bincount(part, subject.host.weight[claim]).argmax())]
    signs = signs_of(subject, claim, kind, role, place)
    # That it is arithmetic speaks for no way: most of a model's has to be done.
    told = (
        way_of(signs)
        if kind != "arithmetic" or signs.again or signs.cut or signs.unused or signs.grows
        else None
    )
    yield Finding(_card(place, kind, told, share.middle, _backward(subject, claim & who.moved)), claim)


def _backward(subject: Subject, claim: Mask) -> tuple[Evidence, ...]:
    """Where the backward part of the line's time was asked for."""
    return tuple(
        replace(one, text=f"in the backward pass, called by {one.text}")
        for one in (subject.lines(claim, 1) if claim.any() else ())
    )


def _card(place: Place, kind: str, way: Way | None, middle: float, backward: tuple[Evidence, ...]) -> Insight:
    short = f"{place.file.rpartition('/')[2]}:{place.line}"
    return Insight(
        rule=RULE.name,
        title=f"{place.label}: {middle:.0%} of each step, mostly {KINDS[kind]}: the first place to look",
        why="No rule knows a cause. Most of the time is here, so what can be won is most likely here.",
        evidence=(
            Evidence(f"{middle:.1%} of the step, its backward pass included", "line", "", place.file, place.line),
            *backward,
        ),
        saving=None,
        confidence="low",
        fix=way.fix.format(place=short) if way else "",
        experiment=Experiment("patch", note="compare the results of both versions"),
        way=way.name if way else "",
        work=kind,
        file=place.file,
        line=place.line,
        pointer=True,
    )  # fmt: skip


RULE = Rule("heaviest_line", 67, "samples in steady steps", judge, scope="cpu", breadth=LAST_RESORT)
