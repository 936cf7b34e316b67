"""Far from the floor: one line's kernels, backward pass included, take several times what their work needs here.

Condition: the machine's roofs were measured (`sonde check --roof`), windows know the FLOPs or bytes of most of the
    line's calls, its kernels are at least 15 % of the step, and at the roofs they would take less than 40 % of that.
Saving: nothing is sure; at most what is above the floor.
Not for: the update, lines of which a narrower rule names the cause, machines busy with other work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.kinds import CODES, KERNELS, KINDS
from sonde.analyze.account.places import Place
from sonde.analyze.roofline.bounds import Roof
from sonde.analyze.roofline.bounds import place as at_roof
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.cards import kind_of
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.roles import roles
from sonde.insights.roof import measured_roof
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject
from sonde.insights.ways import IN_ONE_PASS, OTHER_FORMAT, Way

LEAST_SHARE, MOST_OF_IT = 0.15, 0.4
LEAST_KNOWN = 0.5  # of the time of the line's calls
_WAYS: dict[str, Way] = {"memory": IN_ONE_PASS, "allocation": IN_ONE_PASS}
_WHY = "Its arithmetic and its data would allow several times the speed."


@dataclass(frozen=True)
class Line:
    """One line's kernels: their share of the step, and what they would take at the roofs."""

    place: Place
    claim: Mask
    share: Share
    floor: float


def judge(subject: Subject) -> Iterator[Finding]:
    if subject.crowded:
        raise NotEnough("the CPUs were busy with other work: record on a quiet machine")
    roof, who = measured_roof(subject), subject.caused
    work = np.isin(subject.host_kinds, [CODES[k] for k in (*KERNELS, "allocation")])
    work &= ~roles(subject).of("optimizer")
    found = []
    for number in np.unique(who.place[work]).tolist():
        claim = work & (who.place == number)
        share, place = subject.share(claim), who.all[number]
        if share.low < LEAST_SHARE or place.line <= 0:
            continue
        floor = _floor(subject, place, roof)
        if floor is not None and floor < MOST_OF_IT * share.middle:
            found.append(Line(place, claim, share, floor))
    if found:
        yield _card(subject, max(found, key=lambda line: line.share.middle - line.floor))


def _floor(subject: Subject, place: Place, roof: Roof) -> float | None:
    """Share of a step that the line's calls would take at the roofs; None where too little is known of them."""
    calls = subject.calls
    ops = calls.ops
    rows = (ops.array("line") == place.line) & ops.text("file").equals(place.file)
    rows &= calls.main & ops.text("kind").equals("op")
    known = rows & ~(np.isnan(ops.array("flops")) & np.isnan(ops.array("bytes")))
    known &= ~calls.inside(known)
    rows &= ~calls.inside(rows)
    every, told = float(calls.duration_ns[rows].sum()), float(calls.duration_ns[known].sum())
    if not told or told < LEAST_KNOWN * every:
        return None
    at = np.flatnonzero(known)
    limit = at_roof(
        ops.array("flops")[at], ops.array("bytes")[at], calls.duration_ns[at] / 1e6, ["f32"] * len(at), roof
    )
    needed_ns = float(np.nansum(np.minimum(limit.roof_ms * 1e6, calls.duration_ns[at])))
    return needed_ns / max(calls.steps, 1) / subject.step_ns


def _card(subject: Subject, line: Line) -> Finding:
    kind = kind_of(subject, line.claim)
    way = _WAYS.get(kind, OTHER_FORMAT)
    short = f"{line.place.file.rpartition('/')[2]}:{line.place.line}"
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{line.place.label}: {line.share.middle:.0%} of each step, mostly {KINDS[kind]}; "
            f"at this machine's limits it would be {line.floor:.0%} ({way.name})",
            why=_WHY,
            evidence=(
                Evidence(
                    f"FLOPs and bytes of its calls at the measured roofs: {line.floor:.1%} of the step",
                    "line", "", line.place.file, line.place.line,
                ),
                *subject.lines(line.claim, 2),
            ),
            saving=subject.saving(
                Share(line.share.middle - line.floor, 0.0, max(line.share.high - line.floor, 0.0), line.share.looks)
            ),
            confidence="low",
            fix=way.fix.format(place=short),
            experiment=Experiment("patch", note="compare the results of both versions"),
            way=way.name,
            work=kind,
            file=line.place.file,
            line=line.place.line,
        ),
        line.claim,
    )  # fmt: skip


RULE = Rule("far_from_floor", 66, "operator calls, measured roofs, samples", judge, scope="cpu", breadth=5)
