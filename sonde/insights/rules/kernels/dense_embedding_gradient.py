"""Rule 50, dense embedding gradient: a gradient for every row of a table although a step uses few rows.

Condition: embedding_dense_backward on a table of V rows with fewer than 5 % of V indices in a batch, and
    V·D of at least a megabyte; its time with the optimizer's passes over the table is at least 5 % of the
    step.
Saving: the whole of embedding_dense_backward, the table's part of the optimizer and zero_grad (by its share of all
    elements) and of the kernel's work on pages, which come and go with the gradient; 50 to 100 %, and what
    emptied caches cost the rest of the step (see `cold`).
Not for: tied weights (the output layer needs the dense gradient), optimizers without sparse support (then
    SparseAdam).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.calls import Calls, elements, parsed
from sonde.insights.cold import page_work, with_cold
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

MOST_USED = 0.05  # catalogue, rule 50
LEAST_SHARE = 0.05
FEWEST_BYTES = 1 << 20
SPARSE = ("SGD", "Adagrad", "SparseAdam")


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    rows = np.flatnonzero(calls.named(r"^aten::embedding_dense_backward$"))
    tables: dict[tuple[int, int, int], int] = {}
    for row in rows.tolist():
        found = _table(calls, row)
        if found is not None:
            tables[found] = tables.get(found, 0) + 1
    if not tables:
        return
    optimizers = [o for o in subject.settings.get("optimizers", []) if isinstance(o, dict)]
    known = optimizers[0] if optimizers else {}
    in_table = sum(v * d for v, d, _ in tables)
    part = min(in_table / max(float(known.get("elements", in_table)), 1.0), 1.0)
    gradient = subject.host_in_op(r"^aten::embedding(_dense)?_backward$|^EmbeddingBackward0$")
    optimizer = subject.host_with(r"(^|\.)step$", layer="^python$", file=r"torch/optim/") & ~gradient
    optimizer |= subject.host_with(r"(^|\.)zero_grad$", layer="^python$", file=r"torch/optim/")
    pages = page_work(subject) & ~gradient & ~optimizer
    accumulate = subject.host_with(r"AccumulateGrad", layer="^(op|native)$") & ~gradient
    share = subject.share(gradient)
    rest = subject.share(optimizer | accumulate)
    if share.low + part * rest.low < LEAST_SHARE:
        return
    vocabulary, width, used = max(tables, key=lambda t: t[0] * t[1])
    name = str(known.get("class", "SGD"))
    both = subject.share(gradient | optimizer | accumulate | pages)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The gradient of a table of {vocabulary:,} rows is written in full for {used:,} of them",
            why="A dense gradient zeroes, fills and updates every row; a sparse one only those that were used.",
            evidence=(
                Evidence(
                    f"embedding table {vocabulary} × {width}, at most {used / vocabulary:.1%} of its "
                    "rows used per step",
                    "op",
                    "aten::embedding_dense_backward",
                ),
                Evidence(
                    f"{share.middle:.1%} of the step makes the gradient, {rest.middle:.1%} is in the "
                    "optimizer and accumulation"
                ),
            ),
            saving=subject.saving(with_cold(both), 0.5 * part, 1.0 if part > 0.8 else 0.5 + 0.5 * part),
            confidence="high",
            fix="nn.Embedding(rows, width, sparse=True)"
            + ("" if name in SPARSE else "   # with torch.optim.SparseAdam for its parameters"),
            experiment=Experiment(
                "arguments",
                target="torch.nn.Embedding",
                arguments={"sparse": True},
                note="momentum and weight decay differ",
            ),
        ),
        gradient | (optimizer | accumulate | pages if part > 0.5 else gradient),
    )


def _table(calls: Calls, row: int) -> tuple[int, int, int] | None:
    """(rows of the table, width, indices) when few rows are used."""
    shapes = calls.shapes(row)
    inputs = parsed(calls.ops.text("inputs")[row])
    if len(shapes) < 2 or len(inputs) < 3 or not isinstance(shapes[0], list) or not shapes[0]:
        return None
    try:
        vocabulary = int(str(inputs[2]))
    except ValueError:
        return None
    used, width = elements(shapes[1]), int(shapes[0][-1])
    if not used or used > MOST_USED * vocabulary or 4 * vocabulary * width < FEWEST_BYTES:
        return None
    return vocabulary, width, used


RULE = Rule(
    "dense_embedding_gradient",
    50,
    "operator calls with shapes, samples",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
