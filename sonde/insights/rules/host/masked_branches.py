"""Masked branches: every branch computes all rows, and a mask keeps in each only the rows that chose it.

Condition: in a step one tensor of choices is compared with several numbers, and a line multiplies what it made by a
    mask of truth values, one per row, as many times: at most one branch counts for a row. The line takes at least
    10 % of the step.
Saving: of n branches the work of n - 1 (half to all of it): each needs only its rows, whose gathering costs something.
Not for: masks that are not made by such a comparison; a row may then be in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.columns import Array
from sonde.insights.calls import Calls, elements, parsed
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10
FEWEST_BRANCHES = 3
WON = 0.5  # of what the other branches take, at least


@dataclass(frozen=True)
class Branches:
    number: int
    rows: int
    file: str
    line: int


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    for found in _branches(calls):
        claim = subject.host_at([(found.file, found.line)])
        who = subject.caused
        here = np.array([(p.file, p.line) == (found.file, found.line) for p in who.all], np.bool_)
        claim |= who.moved & here[who.place]
        share = subject.share(claim)
        if share.low < LEAST_SHARE:
            continue
        won = 1 - 1 / found.number
        yield Finding(
            Insight(
                rule=RULE.name,
                title=f"{found.number} branches compute all {found.rows:,} rows and keep their own: "
                f"{share.middle:.0%} of each step",
                why="A row is kept in one branch at most: what the others make of it is multiplied by zero.",
                evidence=(
                    Evidence(
                        f"choices are compared with {found.number} numbers, as many results multiplied by the masks",
                        "line", "", found.file, found.line,
                    ),
                    *subject.lines(claim, 2),
                ),
                saving=subject.saving(share, WON * won, won),
                confidence="medium",
                fix="rows = (chosen == number).nonzero().squeeze(-1)   # only the rows that chose this branch\n"
                "result = result.index_add(0, rows, branch(x[rows]))",
                experiment=Experiment("patch", note="sums are ordered differently: results differ in the last bits"),
                file=found.file,
                line=found.line,
            ),
            claim,
        )  # fmt: skip


def _branches(calls: Calls) -> Iterator[Branches]:
    ops = calls.ops
    forward = calls.main & ~calls.backward
    compared: dict[tuple[str, int, int], list[str]] = {}  # (file, line, rows) → numbers
    for row in np.flatnonzero(calls.named(r"^aten::eq$") & forward).tolist():
        shapes, inputs = calls.shapes(row), parsed(ops.text("inputs")[row])
        count = elements(shapes[0]) if shapes else 0
        if (
            count > 1
            and len(inputs) > 1
            and inputs[1]
            and not elements(shapes[1] if len(shapes) > 1 else None)
        ):
            compared.setdefault((*calls.place(row), count), []).append(str(inputs[1]))
    masked: dict[tuple[str, int, int], int] = {}
    for row in np.flatnonzero(calls.named(r"^aten::mul$") & forward).tolist():
        rows = _masked_rows(calls, row)
        if rows:
            masked[(*calls.place(row), rows)] = masked.get((*calls.place(row), rows), 0) + 1
    for (file, line, rows), times in masked.items():
        for (other, _, count), numbers in compared.items():
            branches = len(set(numbers))
            if other == file and count == rows and branches >= FEWEST_BRANCHES and times == len(numbers):
                yield Branches(branches, rows, file, line)
                break


def _masked_rows(calls: Calls, row: int) -> int:
    """Rows that a product with a column of truth values keeps or drops; 0: it is none."""
    shapes, dtypes = calls.shapes(row), calls.dtypes(row)
    if len(shapes) < 2 or len(dtypes) < 2:
        return 0
    for mask, data in ((0, 1), (1, 0)):
        if dtypes[mask] != "bool" or dtypes[data] == "bool" or not elements(shapes[data]):
            continue
        shape: Array = np.array(shapes[mask])
        if len(shape) > 1 and shape[-1] == 1 and elements(shapes[mask]) > 1 and shapes[data][-1] > 1:
            return elements(shapes[mask])
    return 0


RULE = Rule(
    "masked_branches", 73, "operator calls with shapes", judge, scope="cpu", breadth=0, way="not at all"
)
