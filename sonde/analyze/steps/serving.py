"""Steps that serving engines mark in their traces, by the names of their annotations.

    vLLM    execute_new_3_cached_8, execute_context_2(512)_generation_8(8),
            execute_8192_context_9(sq…)_generation_37(sq…)
    SGLang  step[DECODE bs=32], step[EXTEND bs=15 toks=15360]
In: `marks`. Out: the rows of `marks` that are steps. An engine may mark one step twice, the one
inside the other: the outer one counts.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.columns import Array, Table

_STEP = re.compile(
    r"execute_new_\d+_cached_\d+$|execute_(?:\d+_)?context_\d+\(.*\)_generation_\d+\(.*\)$"
    r"|step\[(?:EXTEND|DECODE|MIXED|DRAFT_LOOP)\b.*\]$"
)


def is_serving_step(name: str | None) -> bool:
    return bool(name and _STEP.match(name))


def serving_steps(marks: Table) -> Array:
    """Rows of the outermost annotations on the host, ascending by start within each process."""
    names = marks.text("name")
    named = np.array([is_serving_step(v) for v in names.values] + [False], np.bool_)
    rows = np.flatnonzero(named[names.codes] & (marks.array("thread") >= 0))
    start, end, process = (marks.array(column)[rows] for column in ("start_ns", "end_ns", "process"))
    order = np.lexsort((-end, start, process))
    kept: list[int] = []
    reach: dict[int, int] = {}  # process → end of its last outermost step
    for i in order.tolist():
        if end[i] > reach.get(int(process[i]), -1):
            kept.append(int(rows[i]))
            reach[int(process[i])] = int(end[i])
    return np.array(kept, np.int64)
