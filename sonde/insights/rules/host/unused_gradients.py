"""Unused gradients: the backward pass computes gradients of parameters that no optimizer reads before they are dropped.

Condition: in windows a parameter's gradient is begun anew though no optimizer, norm or in-place operator touched the
    one before; the part of the backward pass that only leads to such gradients is at least 10 % of the step.
Saving: that part (60 to 100 %).
Not for: optimizers whose calls do not tell which tensors they update (long lists, compiled ones), parameters of one
    shape of which some are updated, gradients that are needed on the way to others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.columns import Array
from sonde.insights.gradients import Pass, passes_of, thrown_away
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10
WON = (0.6, 1.0)
MOST_NEEDED = 0.1  # of a line's backward time: else it is also needed for other gradients


def judge(subject: Subject) -> Iterator[Finding]:
    calls, ops = subject.calls, subject.table("ops")
    passes = passes_of(ops, subject.marks("window"))
    lost = thrown_away(passes)
    if not lost:
        return
    ops = calls.ops
    backward = np.flatnonzero(calls.backward & calls.main)
    only, all_of_it = _spans(backward, ops.array("start_ns"), passes, lost)
    lines: dict[tuple[str, int], list[float]] = {}
    for row, for_nothing, known in zip(backward.tolist(), only.tolist(), all_of_it.tolist(), strict=True):
        told = lines.setdefault(calls.place(row), [0.0, 0.0])
        told[0] += float(calls.self_ns[row]) * for_nothing
        told[1] += float(calls.self_ns[row]) * known
    places = {
        p for p, (nothing, known) in lines.items() if p[1] > 0 and nothing > (1 - MOST_NEEDED) * known > 0
    }
    who = subject.caused
    here = np.array([(p.file, p.line) in places for p in who.all], np.bool_)
    claim = who.moved & here[who.place]
    share = subject.share(claim)
    if not claim.any() or share.low < LEAST_SHARE:
        return
    tensors = len(set().union(*lost.values()))
    shapes = ", ".join(
        str(list(s)) for s in sorted(set().union(*lost.values()), key=np.prod, reverse=True)[:3]
    )
    (file, line) = max(places, key=lambda place: lines[place][0])
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Gradients that nobody reads: {share.middle:.0%} of each step in the backward pass",
            why="These parameters' gradients are dropped before an optimizer reads them.",
            evidence=(
                Evidence(
                    f"gradients of {tensors} shapes are begun anew and never read: {shapes}",
                    "line",
                    "",
                    file,
                    line,
                ),
                *subject.lines(claim, 3),
            ),
            saving=subject.saving(share, *WON),
            confidence="medium",
            fix="for p in part.parameters():   # a part that this loss does not train\n"
            "    p.requires_grad_(False)\n"
            "# or y = part(x).detach(), where another loss trains it",
            experiment=Experiment("patch", note="the updates stay the same: compare the losses"),
            file=file,
            line=line,
        ),
        claim,
    )


def _spans(
    rows: Array,
    begin: Array,
    passes: list[Pass],
    lost: dict[frozenset[tuple[int, ...]], set[tuple[int, ...]]],
) -> tuple[Array, Array]:
    """Which backward calls come after the last gradient that is read, and which belong to a pass at all."""
    only, known = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    ends = sorted(p.end_ns for p in passes)
    for one in passes:
        earlier = [e for e in ends if e < one.end_ns]
        inside = (begin[rows] > (earlier[-1] if earlier else 0)) & (begin[rows] <= one.end_ns)
        known |= inside
        nothing = lost.get(one.kind, set())
        last = max((at for shape, at in one.times.items() if shape not in nothing), default=-1)
        if nothing and last >= 0:
            only |= inside & (begin[rows] > last)
    return only, known


RULE = Rule(
    "unused_gradients", 72, "operator calls with shapes", judge, scope="cpu", breadth=0, way="not at all"
)
