"""Rules about what windows learnt of lines, and about neighbours on the same CPUs."""

from __future__ import annotations

import json
from typing import Any

from sonde.columns import Table
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, FILE, GEMM, LOOP, MODEL, UPDATE, Spent, line, loop, op

MASK = Spent(8, 20, (line(5, "forward"), op("aten::triu"), LOOP), "forward")
AGAIN = Spent(6, 24, (op("aten::addmm"), GEMM), "forward")
OFF_THE_CPU = Spent(10, 20, (), state="waiting", reason="preempted")


def told(kind: str, number: int, **members: Any) -> Table:
    """A mark about one line of the program."""
    return build.table(
        "marks",
        mark=[0],
        process=[0],
        thread=[0],
        kind=[kind],
        name=[FILE],
        number=[number],
        start_ns=[0],
        end_ns=[1],
        extra=[json.dumps(members)],
    )


def values(*spent: Spent, at: int, **members: Any) -> Recording:
    return loop(*spent, more=told("values", at, **members))


PAIRS = {
    "same_result": (
        lambda: values(MODEL, MASK, BACKWARD, UPDATE, at=5, seen=3, distinct=1, large=True),
        lambda: values(MODEL, MASK, BACKWARD, UPDATE, at=5, seen=3, distinct=3, large=True),
    ),
    "same_input": (
        lambda: values(MODEL, BACKWARD, UPDATE, AGAIN, at=24, twice=3),
        lambda: values(MODEL, BACKWARD, UPDATE, AGAIN, at=24, visits=[1, 1]),
    ),
    "padding": (
        lambda: values(MODEL, BACKWARD, UPDATE, at=20, padded=0.8),
        lambda: values(MODEL, BACKWARD, UPDATE, at=20, padded=0.1),
    ),
    "heaviest_line": (
        lambda: loop(MODEL, BACKWARD, UPDATE),
        lambda: loop(*(Spent(1, n, (op("aten::mm"), GEMM), "forward") for n in range(20, 40))),
    ),
    "neighbours": (
        lambda: loop(MODEL, OFF_THE_CPU, BACKWARD, UPDATE),
        lambda: loop(MODEL, BACKWARD, UPDATE),
    ),
}
