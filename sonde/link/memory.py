"""Which operator made each allocation, and what each operator allocated net, children included."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.base.grouping import parent_rows
from sonde.analyze.base.nesting import skip, sum_up, timeline
from sonde.columns import Array, Table, distinct


def memory_ops(memory: Table, ops: Table) -> Array:
    """For each row of `memory`, the row of the innermost op on its thread at that time, -1 when none."""
    result = np.full(len(memory), -1, np.int64)
    if not len(ops) or not len(memory):
        return result
    nests = ~ops.array("is_async") & ~ops.text("kind").matches(("python", "module"))
    parent = skip(parent_rows(ops), nests)
    for thread in distinct(memory.array("thread")):
        mine = np.flatnonzero(memory.array("thread") == thread)
        rows = np.flatnonzero(nests & (ops.array("thread") == thread))
        line = timeline(rows, ops.array("start_ns"), ops.array("end_ns"), parent)
        result[mine] = line.at(memory.array("time_ns")[mine])
    return result


def with_memory(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`ops` with net bytes per call and `memory` with the op of each row."""
    if "memory" not in tables:
        return {}
    ops, memory = tables["ops"], tables["memory"]
    at = memory_ops(memory, ops)
    inside = at >= 0
    identity = ops.array("op")
    linked = np.full(len(memory), -1, np.int64)
    linked[inside] = identity[at[inside]]
    on_cpu = memory.text("device").equals("cpu")
    parent = parent_rows(ops)
    totals = {}
    for name, chosen in (("cpu_mem_bytes", on_cpu), ("device_mem_bytes", ~on_cpu)):
        own = np.zeros(len(ops), np.int64)
        np.add.at(own, at[inside & chosen], memory.array("bytes")[inside & chosen])
        totals[name] = sum_up(parent, own)
    return {"ops": ops.with_columns(**totals), "memory": memory.with_columns(op=linked)}
