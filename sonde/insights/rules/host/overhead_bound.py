"""Rule 1 on the host, overhead bound: the work of a call is smaller than the cost of calling.

Condition: at least half of the step is outside kernels, and at least 80 % of the recorded matrix products
    work on a single row (batch of one), so that a larger batch would share the cost.
Saving: with a batch of n the overhead of n calls becomes one: the overhead's share, 40 to 100 % of it.
Not for: programs that batch already (rules 12, 13 and 49 find particular overheads), and generation of text
    with large products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.calls import Calls, elements
from sonde.insights.host_layers import host_layers
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.native_words import overhead_words
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_OVERHEAD = 0.5
LEAST_SINGLE = 0.8
PRODUCTS = r"^aten::(addmm|mm|linear|convolution|conv[123]d|bmm)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    claim = host_layers(subject).overhead
    share = subject.share(claim)
    single, products = _single_rows(calls)
    if share.low < LEAST_OVERHEAD or not products or single < LEAST_SINGLE * products:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Batches of one: {share.middle:.0%} of each step is overhead, not arithmetic",
            why="Python and dispatch cost the same for one row as for hundreds.",
            evidence=(
                Evidence(f"{single} of {products} recorded products work on one row", "op", "aten::addmm"),
                Evidence(f"{share.middle:.1%} of the step is {overhead_words(subject)}"),
                *subject.lines(claim, 1),
            ),
            saving=subject.saving(share, 0.4, 1.08),
            confidence="high",
            fix="y = model(torch.stack(rows))          # many rows in one call\n"
            "model = torch.compile(model)          # or make each call cheaper",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _single_rows(calls: Calls) -> tuple[int, int]:
    """(products on a single row, products)."""
    rows = np.flatnonzero(calls.named(PRODUCTS) & calls.main)
    batch = calls.each_kind(rows, lambda r: _batch(calls, r), "name", "shapes")
    return int((batch == 1).sum()), int((batch > 0).sum())


def _batch(calls: Calls, row: int) -> int:
    """Rows that a product works on; 0 when its shapes were not recorded."""
    shapes = [s for s in calls.shapes(row) if elements(s) and len(s) >= 2]
    if not shapes:
        return 0
    first: list[int] = shapes[0]
    is_convolution = "conv" in (calls.ops.text("name")[row] or "")
    return first[0] if is_convolution else elements(first) // max(first[-1], 1)


RULE = Rule(
    "overhead_bound", 1, "operator calls with shapes, samples", judge, scope="cpu", breadth=2, way="in bulk"
)
