"""`sonde show REC memory`: running total and peak per device, what was alive at the peak, growth over steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.analyze.memory.growth import counter_growth
from sonde.analyze.memory.timeline import Peak, alive_by, blocks, peaks, running_total
from sonde.columns import Array, Table
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

CURVE_POINTS = 48

GROUPS = ("op", "module", "line")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`devices`: peak and what was alive at it, with a curve; `host`: resident memory; `growth` per step."""
    if options.by not in (None, *GROUPS):
        raise UsageError(f"--by {options.by!r} is not known here", "use one of " + ", ".join(GROUPS))
    memory, marks, threads = (recording.table(n) for n in ("memory", "marks", "threads"))
    ops, found = recording.table("ops"), blocks(memory, marks, threads)
    devices = [_device(peak, found, memory, ops, marks) for peak in peaks(memory, marks, threads=threads)]
    return {"devices": devices, "host": _host(recording), "growth": _growth(recording)}


def _device(peak: Peak, found: Table, memory: Table, ops: Table, marks: Table) -> dict[str, Any]:
    mine = found.take((found.array("process") == peak.process) & found.text("device").equals(peak.device))
    window = int(mine.array("window")[_nearest(mine.array("start_ns"), peak.time_ns)])
    times, total = running_total(mine.take(mine.array("window") == window), peak.device)
    told = memory.take(memory.text("device").equals(peak.device))
    allocator = peak.device != "cpu"  # the CPU's running total begins with the profiler, so it says nothing
    return {
        "process": peak.process,
        "device": peak.device,
        "peak_bytes": peak.total_bytes,
        "seen_bytes": peak.bytes,
        "base_bytes": peak.base_bytes,
        "time_ns": peak.time_ns,
        "step": _step(marks, peak),
        "allocated_bytes": _largest(told.array("allocated_bytes")) if allocator else None,
        "reserved_bytes": _largest(told.array("reserved_bytes")) if allocator else None,
        "by_category": dict(sorted(peak.by_category.items(), key=lambda item: -item[1])),
        **{
            f"by_{by}": [
                {by: name, "bytes": held, "blocks": number} for name, held, number in alive_by(peak, ops, by)
            ]
            for by in GROUPS
        },
        "curve": _curve(times, total + peak.base_bytes),
    }


def _nearest(start: Array, time_ns: int) -> int:
    """Row of the block that began last before the moment; blocks are in order of begin."""
    return max(int(np.searchsorted(start, time_ns, side="right")) - 1, 0)


def _largest(values: Array) -> int | None:
    return int(values.max()) if len(values) and int(values.max()) >= 0 else None


def _step(marks: Table, peak: Peak) -> int | None:
    hit = (
        marks.text("kind").equals("step")
        & (marks.array("process") == peak.process)
        & (marks.array("start_ns") <= peak.time_ns)
        & (marks.array("end_ns") > peak.time_ns)
    )
    rows = np.flatnonzero(hit)
    return int(marks.array("number")[rows[0]]) if len(rows) else None


def _curve(times: Array, total: Array) -> dict[str, Any]:
    """The largest total in each of equal stretches of the window."""
    if not len(times):
        return {"start_ns": 0, "end_ns": 0, "bytes": []}
    first, last = int(times[0]), int(times[-1])
    slot = ((times - first) * CURVE_POINTS // max(last - first + 1, 1)).astype(np.int64)
    points = np.zeros(CURVE_POINTS, np.int64)
    np.maximum.at(points, slot, total)
    # A stretch without an event holds what the one before it ended with.
    ends = np.full(CURVE_POINTS, -1, np.int64)
    ends[slot] = np.arange(len(total))
    carried = 0
    for i in range(CURVE_POINTS):
        points[i] = max(int(points[i]), carried)
        carried = int(total[ends[i]]) if ends[i] >= 0 else carried
    return {"start_ns": first, "end_ns": last, "bytes": points.tolist()}


def _host(recording: Recording) -> list[dict[str, Any]]:
    """Resident memory over time. Processes that were not sampled (helpers, short children) are in `processes` alone."""
    counters, processes = recording.table("counters"), recording.table("processes")
    rows = []
    for i, process in enumerate(processes.array("process").tolist()):
        mine = counters.take(
            counters.text("name").equals("rss_bytes") & (counters.array("process") == process)
        )
        order = np.argsort(mine.array("time_ns"), kind="stable")
        values = mine.array("value")[order]
        highest = int(processes.array("max_rss_bytes")[i])
        if not len(values) and (highest < 0 or processes.text("engine")[i] is None):
            continue
        rows.append(
            {
                "process": process,
                "pid": int(processes.array("pid")[i]),
                "role": processes.text("role")[i],
                "max_rss_bytes": highest if highest >= 0 else None,
                "rss_bytes": [int(v) for v in values],
            }
        )
    return rows


def _growth(recording: Recording) -> list[dict[str, Any]]:
    counters, marks = recording.table("counters"), recording.table("marks")
    rows = []
    for process in recording.table("processes").array("process").tolist():
        found = counter_growth(counters, marks, process)
        if found:
            rows.append(
                {
                    "process": process,
                    "name": found.name,
                    "steps": found.steps,
                    "bytes_per_step": found.slope_bytes,
                    "low": found.low_bytes,
                    "high": found.high_bytes,
                    "grows": found.grows,
                }
            )
    return rows
