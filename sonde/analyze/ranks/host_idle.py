"""What the host did while the device of a rank had nothing to do: operators, and the program's own regions.

Enters: `Work` and `ops` of one rank. Leaves: `HostIdle`. Annotations (record_function, optimizer hooks) are no
operators: they say where in the program the host was, not that it computed. Each moment belongs to the innermost
annotation around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import Spans, intersect, subtract, union
from sonde.analyze.device.events import Work
from sonde.columns import Table

OPERATORS = ("op", "backward", "compiled")
MOST_REGIONS = 5
MOST_ANNOTATIONS = 50_000  # that are nested one by one


@dataclass(frozen=True)
class HostIdle:
    """Nanoseconds of the device's window in which it was idle; regions by time, longest first."""

    idle_ns: int = 0
    operators_ns: int = 0
    regions: tuple[tuple[str, int], ...] = ()


def host_idle(work: Work, ops: Table) -> HostIdle:
    """Of all devices of the rank together."""
    if not len(work) or not len(ops):
        return HostIdle()
    busy = union(work.start, work.end)
    whole = union([int(work.start.min())], [int(work.end.max())])
    idle = subtract(whole, busy)
    kind, start, end = ops.text("kind"), ops.array("start_ns"), ops.array("end_ns")
    operators = kind.matches(OPERATORS)
    running = intersect(idle, union(start[operators], end[operators]))
    return HostIdle(idle.total_ns, running.total_ns, _regions(idle, ops))


def _regions(idle: Spans, ops: Table) -> tuple[tuple[str, int], ...]:
    names = ops.text("name")
    rows = np.flatnonzero(ops.text("kind").equals("annotation"))
    rows = np.array([r for r in rows.tolist() if not (names[r] or "").startswith("ProfilerStep")], np.int64)
    rows = rows[:MOST_ANNOTATIONS]
    thread, start, end = ops.array("thread"), ops.array("start_ns"), ops.array("end_ns")
    rows = rows[np.lexsort((-end[rows], start[rows], thread[rows]))] if len(rows) else rows
    sums: dict[str, int] = {}
    open_ones: list[int] = []
    idle_ns = idle.within(start[rows], end[rows])  # of all at once: each call goes through all gaps
    for row, inside in zip(rows.tolist(), idle_ns.tolist(), strict=True):
        while open_ones and (thread[open_ones[-1]] != thread[row] or end[open_ones[-1]] <= start[row]):
            open_ones.pop()
        name = names[row] or "?"
        sums[name] = sums.get(name, 0) + inside
        if open_ones:  # the moment belongs to the inner one
            outer = names[open_ones[-1]] or "?"
            sums[outer] -= inside
        open_ones.append(row)
    ordered = sorted(((n, ns) for n, ns in sums.items() if ns > 0), key=lambda item: -item[1])
    return tuple(ordered[:MOST_REGIONS])
