"""Rule 46, unfused attention: scores, softmax and weighted sum as separate operators.

Condition: in the recorded steps a softmax over a square or long last dimension stands between two batched
    matrix products of the same shapes (product → at most 6 pointwise operators → softmax → at most 4 →
    product), and these take at least 10 % of the step.
Saving: the passes over the score matrix that a fused kernel never writes: scale, mask, softmax and dropout
    for the most part (50 to 100 %), and in the best case the two products.
Not for: attention with extra terms that scaled_dot_product_attention cannot express; scores smaller than 64
    columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.calls import Calls
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10
FEWEST_COLUMNS = 64
BEFORE, AFTER = 6, 4  # operators that may stand between
PRODUCT = r"^aten::(matmul|bmm|baddbmm|einsum)$"
SOFTMAX = r"^aten::(softmax|_softmax|_safe_softmax)$"
# Changes of shape cost nothing and may stand anywhere.
VIEWS = (
    r"^aten::(t|transpose|view|reshape|permute|expand|unsqueeze|squeeze|select|slice"
    r"|contiguous|_unsafe_view|unbind|to|detach|alias|size|numel|sym_\w+)$"
)


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    members, products, found = _attention(calls)
    if not found:
        return
    whole, pointwise = calls.share(members), calls.share(members & ~products)
    if whole < LEAST_SHARE:
        return
    row = int(np.flatnonzero(members & ~products)[0])
    file, line = calls.place(row)
    low, high = 0.5 * pointwise, whole
    saving = subject.saving(exact(1.0, 1.0), low, min(high, 0.95))
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Attention is written out: {whole:.0%} of each step in products, scaling and softmax",
            why="Every operator writes and reads the whole score matrix; a fused kernel keeps it in cache.",
            evidence=(
                Evidence(
                    f"{found / calls.steps:.0f} times per step product → softmax → product on scores "
                    f"{calls.shapes(row)[:1]}",
                    "op",
                    "aten::softmax",
                    file,
                    line,
                ),
                Evidence(f"{pointwise:.1%} of the step in scaling, masking and softmax alone"),
            ),
            saving=saving,
            confidence="high" if pointwise > 0.1 else "medium",
            fix="y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=False)\n"
            "# Hugging Face: from_pretrained(..., attn_implementation='sdpa')",
            experiment=Experiment(
                "patch", note="sums are ordered differently: results differ in the last bits"
            ),
        ),
        subject.host_at([(file, line)]) if line > 0 and not subject.has_device else None,
    )


def _attention(calls: Calls) -> tuple[Mask, Mask, int]:
    """Calls that belong to written-out attention, the products among them, and the number of softmaxes."""
    members = np.zeros(len(calls.ops), np.bool_)
    top = calls.main & (calls.parent < 0) | calls.named(PRODUCT + "|" + SOFTMAX) & calls.main
    top &= ~calls.named(VIEWS)
    outer = calls.inside(calls.named(PRODUCT + "|" + SOFTMAX))
    rows = np.flatnonzero(top & ~outer & ~calls.inside(calls.named(r"^aten::scaled_dot_product_attention$")))
    order = np.lexsort((calls.ops.array("start_ns")[rows], calls.ops.array("thread")[rows]))
    rows = rows[order]
    product, softmax = calls.named(PRODUCT)[rows], calls.named(SOFTMAX)[rows]
    count = 0
    for at in np.flatnonzero(softmax).tolist():
        shape = (calls.shapes(int(rows[at])) or [[]])[0]
        if not isinstance(shape, list) or len(shape) < 3 or shape[-1] < FEWEST_COLUMNS:
            continue
        before = np.flatnonzero(product[max(at - BEFORE - 1, 0) : at])
        after = np.flatnonzero(product[at + 1 : at + 2 + AFTER])
        if not len(before) or not len(after):
            continue
        first, last = max(at - BEFORE - 1, 0) + int(before[-1]), at + 1 + int(after[0])
        members[rows[first : last + 1]] = True
        count += 1
    return members, members & calls.named(PRODUCT), count


RULE = Rule(
    "unfused_attention", 46, "operator calls with shapes", judge, scope="cpu", breadth=0, way="in one pass"
)
