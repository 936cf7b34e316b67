"""Mostly zeros: a product reads a large matrix of which nearly all numbers are zero.

Condition: a window sampled a matrix that a line of the user's names, of at least 65 536 numbers: at least 95 % of the
    sample are zero; a matrix product of that line has an input of that shape, and the samples in it are at least 5 %
    of the step.
Saving: a sparse product takes time only for numbers that are not zero, but up to 12 times as much for each: what is
    left at most (ours: 3 to 9 times in compressed rows on one thread, with 1000 to 4000 rows of 16 to 128 columns).
Not for: matrices that are only partly zero, such as causal masks; the product of convolutions and recurrent layers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.line_facts import Operand, operands
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import wilson
from sonde.insights.subject import Subject

LEAST_ZEROS, LEAST_SHARE = 0.95, 0.05
TIMES_AS_LONG = 12.0  # per number that is not zero, of a sparse product
PRODUCT = r"^aten::(mm|addmm|bmm|baddbmm|matmul|mv|addmv|linear|einsum)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    for one in operands(subject.table("marks")):
        if one.zeros < LEAST_ZEROS or len(one.shape) != 2:
            continue
        shapes = (list(one.shape), list(one.shape)[::-1])
        rows = np.flatnonzero(
            calls.named(PRODUCT)
            & (calls.ops.array("line") == one.line)
            & calls.ops.text("file").equals(one.file)
            & calls.main
        )
        if not any(shape in calls.shapes(row) for row in rows.tolist() for shape in shapes):
            continue
        claim = subject.host_in_op(PRODUCT) & subject.host_at([(one.file, one.line)])
        share = subject.share(claim)
        if share.low < LEAST_SHARE:
            continue
        yield Finding(_card(subject, one, claim), claim)


def _card(subject: Subject, one: Operand, claim: Mask) -> Insight:
    place = f"{one.file.rpartition('/')[2]}:{one.line}"
    share = subject.share(claim)
    full = wilson((1 - one.zeros) * one.looked, float(one.looked), float(one.looked))
    low = 1 - TIMES_AS_LONG * full.high
    size = " × ".join(str(n) for n in one.shape)
    kept = "it was the same in two steps" if one.same else "whether it stays the same was not seen"
    return Insight(
        rule=RULE.name,
        title=f"{place} multiplies by {one.name}, of which {one.zeros:.1%} are zeros: {share.middle:.0%} of each step",
        why="A dense product multiplies all the zeros too; a sparse one only what is not zero.",
        evidence=(
            Evidence(
                f"{one.zeros:.1%} of {one.looked} numbers looked at in {one.name} ({size}) are zero; {kept}",
                "line",
                "",
                one.file,
                one.line,
            ),
            *subject.lines(claim, 1),
        ),
        saving=subject.saving(share, max(low, -0.5), 1 - full.low),
        confidence="medium" if one.same and low > 0 else "low",
        fix=f"{one.name} = {one.name}.to_sparse_csr()   # once, where it is made; then {one.name} @ x as before\n"
        "# rows with a single one: an index instead of a product (embedding, index_select)",
        experiment=Experiment("patch", note="compare the results of both versions"),
        work="arithmetic",
        file=one.file,
        line=one.line,
    )


RULE = Rule(
    "mostly_zeros",
    68,
    "numbers in tensors in windows, operator calls, samples",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
