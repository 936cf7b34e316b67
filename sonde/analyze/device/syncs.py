"""Where the host waits for the device, and what that costs.

Enters: `Work`, `launches`, `ops`. Leaves: `SyncPoint` per call site name, `DeadWindow`s.
A synchronising call is one of kind `sync` (device, stream, event synchronise), or a copy call that
behaves as one: it returns only after the device event it launched has ended (pageable copies do).
    waited   time of the host inside the call
    bubble   idle time of the device from the moment its work ran out during or before the call to the
             next event: what the device loses because the host stopped queueing
A dead window is a stretch of at least `at_least_ns` in which no device event runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.device.events import Work
from sonde.analyze.device.idle import causes, gaps, waits_for_device
from sonde.columns import Array, Table, distinct

DEAD_WINDOW_NS = 100_000


@dataclass(frozen=True)
class SyncPoint:
    """All synchronising calls of one name below one operator."""

    call: str
    op: str  # innermost operator or region around it, "" when outside
    count: int
    waited_ns: int
    bubble_ns: int
    longest_ns: int


@dataclass(frozen=True)
class DeadWindow:
    """A stretch in which the device does nothing."""

    process: int
    device: int
    start_ns: int
    end_ns: int
    cause: str  # host, kernel, other as in sonde.analyze.device.idle
    next_event: str  # the event that ends it

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


def blocking_calls(work: Work, launches: Table) -> Array:
    """Rows of `launches` in which the host waits for the device."""
    is_sync = waits_for_device(launches)
    is_copy = launches.text("kind").matches(("copy", "set"))
    last_end = np.full(len(launches), np.iinfo(np.int64).max)
    linked = work.take(work.launched)
    # For a call with several events the last end counts; ascending order makes the last write win.
    order = np.argsort(linked.end, kind="stable")
    last_end[linked.launch[order]] = linked.end[order]
    waits = is_copy & (last_end <= launches.array("end_ns"))
    return np.flatnonzero(is_sync | waits)


def sync_points(work: Work, launches: Table, ops: Table) -> list[SyncPoint]:
    """By call name and operator, most costly first (bubble, then wait)."""
    rows = blocking_calls(work, launches)
    if not len(rows):
        return []
    start, end = launches.array("start_ns")[rows], launches.array("end_ns")[rows]
    bubble = _bubbles(work, start, end)
    op_row = rows_of(ops.array("op"), launches.array("op")[rows])
    names, op_names = launches.text("name"), ops.text("name")
    op_code = np.where(op_row >= 0, op_names.codes[op_row] if len(ops) else -1, -1)
    key = names.codes[rows].astype(np.int64) * (len(op_names.values) + 1) + op_code
    points = []
    for value in distinct(key):
        mine = key == value
        at = int(np.flatnonzero(mine)[0])
        code = int(op_code[at])
        points.append(
            SyncPoint(
                names[int(rows[at])] or "",
                op_names.values[code] if code >= 0 else "",
                int(mine.sum()),
                int((end - start)[mine].sum()),
                int(bubble[mine].sum()),
                int((end - start)[mine].max()),
            )
        )
    return sorted(points, key=lambda p: (-p.bubble_ns, -p.waited_ns, p.call))


def dead_windows(work: Work, at_least_ns: int = DEAD_WINDOW_NS) -> list[DeadWindow]:
    """Idle stretches of each device, longest first."""
    found = []
    for process, device in work.devices():
        here = work.on(process, device)
        holes = gaps(here)
        host, kernel, _ = causes(here, holes)
        for i in np.flatnonzero(holes.end - holes.start >= at_least_ns):
            cause = "host" if host[i] else "kernel" if kernel[i] else "other"
            name = here.name[int(holes.event[i])] or ""
            found.append(DeadWindow(process, device, int(holes.start[i]), int(holes.end[i]), cause, name))
    return sorted(found, key=lambda w: -w.length_ns)


def _bubbles(work: Work, start: Array, end: Array) -> Array:
    """Per call, the idle time of the device that it opens: each gap is charged to one call at most.

    The gap that holds the call's end (the device ran dry before the host came back) is the
    call's; of several calls in one gap the first pays for it from its own start on.
    """
    cost = np.zeros(len(start), np.int64)
    for process, device in work.devices():
        holes = gaps(work.on(process, device))
        if not len(holes.start):
            continue
        at = np.searchsorted(holes.start, end, "right") - 1
        inside = (at >= 0) & (end <= holes.end[np.maximum(at, 0)])
        order = np.argsort(end, kind="stable")
        calls = order[inside[order]]
        _, first = np.unique(at[calls], return_index=True)
        payers = calls[first]
        hole = at[payers]
        cost[payers] += holes.end[hole] - np.maximum(holes.start[hole], start[payers])
    return cost
