"""Rule 3, chains of small operators: pointwise operators one after another on tensors of the same size.

Condition: in the recorded steps at least three pointwise operators on the same number of elements (at least
    16 k) follow each other, and such chains take at least 15 % of the step (catalogue: 10 %).
Saving: k operators make k passes over memory, a fused one makes about one and a half: (1 - 1.5/k) of the
    chains' time, from a half of that up.
Not for: the backward pass (it follows from the forward), operators on tiny tensors (overhead), optimizers
    (rule 49).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.calls import Calls, elements
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_CHAIN = 3
LEAST_SHARE = 0.15
FEWEST_ELEMENTS = 16_384
POINTWISE = (
    r"^aten::(add|sub|rsub|mul|div|neg|pow|sqrt|rsqrt|exp|log|tanh|sigmoid|erf|abs|square|clamp"
    r"|clamp_min|clamp_max|where"
    r"|masked_fill|maximum|minimum|reciprocal|sin|cos|silu|relu|gelu|leaky_relu|softplus|lerp|addcmul|addcdiv"
    r"|dropout|bernoulli_|mul_|add_|sub_|div_|mean|to|hardtanh|threshold)_?$"
)
NEUTRAL = (
    r"^aten::(view|reshape|t|transpose|permute|expand|unsqueeze|squeeze|detach|empty\w*|as_strided|slice"
    r"|select|resolve_conj|alias)$"
)


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    rows, lengths = chains(calls)
    share = calls.share(rows)
    if share < LEAST_SHARE:
        return
    places = Counter(calls.place(r) for r in np.flatnonzero(rows).tolist())
    claim = subject.host_in_op(POINTWISE)
    known = {p for p in places if p[1] > 0}
    if known:
        claim &= subject.host_at(known)
    backward = subject.host_in_op(r"^autograd::engine")
    claim &= ~backward
    sampled = subject.share(claim)
    middle = min(share, sampled.high)
    if sampled.low < 0.5 * LEAST_SHARE:
        return
    typical = float(np.mean(lengths))
    win = max(1 - 1.5 / typical, 0.2)
    (file, line), _ = places.most_common(1)[0]
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Chains of {typical:.0f} pointwise operators take {share:.0%} of each step",
            why="Each operator reads and writes the whole tensor; one fused kernel passes over it once.",
            evidence=(
                Evidence(
                    f"{len(lengths) / calls.steps:.0f} chains per step, the longest of {max(lengths)} operators",
                    "line",
                    "",
                    file,
                    line,
                ),
                *subject.lines(claim, 3),
            ),
            saving=subject.saving(exact(max(middle, sampled.middle), 1.0), 0.5 * win, 1.1),
            confidence="high" if min(share, sampled.low) > LEAST_SHARE else "medium",
            fix="model = torch.compile(model)   # fuses them\n"
            "# or the operator that does it in one pass: F.gelu(x, approximate='tanh'), F.layer_norm, F.silu",
            experiment=Experiment(
                "patch", note="torch.compile changes results in the last bits and compiles first"
            ),
        ),
        claim,
    )


def chains(calls: Calls) -> tuple[Mask, list[int]]:
    """Outermost forward calls that belong to chains, and the length of each chain."""
    backward = calls.ops.text("kind").equals("backward")
    inside_backward = calls.inside(backward)
    optimizer = calls.inside(calls.named(r"^Optimizer\."))
    outer = calls.main & (calls.ops.text("kind").equals("op")) & ~inside_backward & ~optimizer
    outer &= ~calls.inside(outer)
    rows = np.flatnonzero(outer & ~calls.named(NEUTRAL))
    rows = rows[np.lexsort((calls.ops.array("start_ns")[rows], calls.ops.array("thread")[rows]))]
    pointwise = calls.named(POINTWISE)[rows]
    size = calls.each_kind(rows, lambda r: _size(calls, r), "shapes") * pointwise
    found = np.zeros(len(calls.ops), np.bool_)
    lengths: list[int] = []
    begin = 0
    for at in range(1, len(rows) + 1):
        # A reduction to rows (mean) and its use stay within the chain: sizes of the larger operand decide.
        if at == len(rows) or size[at] != size[begin] or not size[at]:
            if size[begin] >= FEWEST_ELEMENTS and at - begin >= LEAST_CHAIN:
                found[rows[begin:at]] = True
                lengths.append(at - begin)
            begin = at
    return found, lengths


def _size(calls: Calls, row: int) -> int:
    return max((elements(s) for s in calls.shapes(row)), default=0)


RULE = Rule(
    "small_op_chains",
    3,
    "operator calls with shapes, samples",
    judge,
    scope="cpu",
    breadth=1,
    trial=True,
    way="in one pass",
)
