"""Rule 40, non-contiguous copies: tensors are made contiguous in every step.

Condition: `contiguous`, `clone`, `reshape` or `copy_` of strided inputs (by the recorded strides, at least
    16 k elements) takes at least 15 % of the recorded steps, and sampled time agrees.
Saving: those copies, 50 to 100 %: the next operator may have to read with strides instead; at most with the pages of
    the copies and what emptied caches cost the rest of the step (see `cold`).
Not for: changes of type (`to`), copies between devices, copies inside the backward pass and inside products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.calls import Calls, elements, parsed
from sonde.insights.cold import page_work, with_cold
from sonde.insights.host_layers import MATH_OP
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

LEAST_SHARE = 0.15  # catalogue: 5 %; more, because every attention layer needs such copies
FEWEST_ELEMENTS = 16_384
COPIES = r"^aten::(contiguous|clone|reshape|copy_)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    rows = _strided(calls)
    if calls.share(rows) < LEAST_SHARE:
        return
    index = subject.stacks
    places = {calls.place(r) for r in np.flatnonzero(rows).tolist()} - {("", -1)}
    math = index.on_stack(index.frames_where(MATH_OP, layer="^op$"))
    claim = subject.host_mask(index.on_stack(index.frames_where(COPIES, layer="^op$"), under=~math))
    claim &= subject.host_at(places) if places else True
    backward = index.on_stack(index.frames_where(r"^autograd::engine", layer="^op$"))
    claim &= ~subject.host_mask(backward)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    wider = with_cold(subject.share(claim | page_work(subject)))
    most = Share(share.middle, share.low, wider.high, share.looks)
    top = calls.heaviest(rows)
    strides = parsed(calls.ops.text("strides")[top.row])[:1]
    shown = f"{top.name} of {calls.shapes(top.row)[:1]} with strides {strides}"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Making strided tensors contiguous takes {share.middle:.0%} of each step",
            why="A transposed tensor is only a view; making it contiguous copies every element.",
            evidence=(
                Evidence(shown, "op", top.name, top.file, top.line),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(most, 0.5),
            confidence="high",
            fix="# keep the data in the layout that the next operator wants, once, outside the step\n"
            "table = table.t().contiguous()",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _strided(calls: Calls) -> Mask:
    """Outermost copies that read a large tensor whose elements are not in order."""
    named = calls.named(COPIES) & calls.main & ~calls.backward & ~calls.inside(calls.named(MATH_OP))
    found = np.zeros(len(named), np.bool_)
    rows = np.flatnonzero(named)
    found[rows] = calls.each_kind(rows, lambda r: _is_strided(calls, r), "name", "shapes", "strides") > 0
    return found


def _is_strided(calls: Calls, row: int) -> bool:
    shapes, strides = calls.shapes(row), parsed(calls.ops.text("strides")[row])
    at = 1 if calls.ops.text("name")[row] == "aten::copy_" else 0
    if len(shapes) <= at or len(strides) <= at or elements(shapes[at]) < FEWEST_ELEMENTS:
        return False
    return not in_order(shapes[at], strides[at])


def in_order(shape: list[int], strides: list[int]) -> bool:
    """Whether elements lie one after the other (dimensions of one element do not count)."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=False):
        if size != 1 and stride != 0:  # a stride of 0 repeats an element: broadcasting, not disorder
            if stride != expected:
                return False
            expected *= size
    return True


RULE = Rule(
    "noncontiguous_copies",
    40,
    "operator calls with strides, samples",
    judge,
    scope="cpu",
    breadth=1,
    way="in another format",
)
