"""`memory`: running total and peak per device, what was alive at the peak, growth over steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sonde.analyze.memory.growth import counter_growth
from sonde.analyze.memory.timeline import Peak, alive_by, blocks, peaks, running_total
from sonde.columns import Array, Table
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.columns import Column
from sonde.views.options import ShowOptions

CURVE_POINTS = 48
HOST_POINTS = 2000

GROUPS = ("op", "module", "line")


@dataclass(frozen=True)
class HolderRow:
    """What one operator, module or line had allocated that was alive at the peak."""

    name: Annotated[str, Column("made by", meaning="operator, module or line")]
    bytes: Annotated[int, Column("bytes", "bytes", "alive at the peak")]
    blocks: Annotated[int, Column("blocks", "count", "allocations alive at the peak")]


@dataclass(frozen=True)
class MemoryCurve:
    """The largest total in each of equal stretches of the window that has the peak."""

    start_ns: int
    end_ns: int
    bytes: list[int]


@dataclass(frozen=True)
class PeakRow:
    """One device of one process at its peak."""

    process: Annotated[int, Column("process", meaning="number of the process in the recording")]
    device: Annotated[str, Column("device", meaning="cpu, cuda:0, …")]
    peak_bytes: Annotated[int, Column("peak", "bytes", "most bytes in use by the framework")]
    seen_bytes: Annotated[int, Column("seen", "bytes", "of it: allocated inside the window")]
    base_bytes: Annotated[int, Column("older", "bytes", "of it: allocated before the window")]
    time_ns: Annotated[int, Column("time", "ns", "when the peak was, by CLOCK_MONOTONIC")]
    step: Annotated[int | None, Column("step", meaning="step that the peak falls into")]
    allocated_bytes: Annotated[
        int | None, Column("allocated", "bytes", "most bytes in use, by the allocator's own count")
    ]
    reserved_bytes: Annotated[
        int | None, Column("reserved", "bytes", "most bytes reserved, by the allocator's own count")
    ]
    by_category: dict[
        str, int
    ]  # parameter, gradient, optimizer_state, activation, input, temporary, unknown → bytes
    by_op: list[HolderRow]
    by_module: list[HolderRow]
    by_line: list[HolderRow]
    curve: MemoryCurve


@dataclass(frozen=True)
class HostRow:
    """Resident memory of one process."""

    process: Annotated[int, Column("process", meaning="number of the process in the recording")]
    pid: Annotated[int, Column("pid", meaning="the system's number of it")]
    role: Annotated[str | None, Column("role", meaning="what the process is: main, worker, …")]
    max_rss_bytes: Annotated[int | None, Column("maximum", "bytes", "most resident memory")]
    rss_bytes: list[int]  # over time; of more than 2,000 readings the largest in each of 2,000 equal parts


@dataclass(frozen=True)
class GrowthRow:
    """Change of resident memory per step."""

    process: Annotated[int, Column("process", meaning="number of the process in the recording")]
    name: Annotated[str, Column("counter", meaning="what grows")]
    steps: Annotated[int, Column("steps", "count", "last steps that were fitted")]
    bytes_per_step: Annotated[float, Column("per step", "bytes", "slope")]
    low: Annotated[float, Column("low", "bytes", "its 95 % interval")]
    high: Annotated[float, Column("high", "bytes", "its 95 % interval")]
    grows: Annotated[bool, Column("grows", meaning="the interval is above zero")]


@dataclass(frozen=True)
class Memory:
    """Peaks by device, resident memory by process, growth over steps."""

    devices: list[PeakRow]
    host: list[HostRow]
    growth: list[GrowthRow]


def data(recording: Recording, options: ShowOptions) -> Memory:
    """Every device of every process."""
    if options.by not in (None, *GROUPS):
        raise UsageError(f"--by {options.by!r} is not known here", "use one of " + ", ".join(GROUPS))
    memory, marks, threads = (recording.table(n) for n in ("memory", "marks", "threads"))
    ops, found = recording.table("ops"), blocks(memory, marks, threads)
    devices = [_device(peak, found, memory, ops, marks) for peak in peaks(memory, marks, threads=threads)]
    return Memory(devices, _host(recording), _growth(recording))


def _device(peak: Peak, found: Table, memory: Table, ops: Table, marks: Table) -> PeakRow:
    mine = found.take((found.array("process") == peak.process) & found.text("device").equals(peak.device))
    window = int(mine.array("window")[_nearest(mine.array("start_ns"), peak.time_ns)])
    times, total = running_total(mine.take(mine.array("window") == window), peak.device)
    told = memory.take(memory.text("device").equals(peak.device))
    allocator = peak.device != "cpu"  # the CPU's running total begins with the profiler, so it says nothing
    by_op, by_module, by_line = ([HolderRow(*row) for row in alive_by(peak, ops, by)] for by in GROUPS)
    return PeakRow(
        process=peak.process,
        device=peak.device,
        peak_bytes=peak.total_bytes,
        seen_bytes=peak.bytes,
        base_bytes=peak.base_bytes,
        time_ns=peak.time_ns,
        step=_step(marks, peak),
        allocated_bytes=_largest(told.array("allocated_bytes")) if allocator else None,
        reserved_bytes=_largest(told.array("reserved_bytes")) if allocator else None,
        by_category=dict(sorted(peak.by_category.items(), key=lambda item: -item[1])),
        by_op=by_op,
        by_module=by_module,
        by_line=by_line,
        curve=_curve(times, total + peak.base_bytes),
    )


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


def _curve(times: Array, total: Array) -> MemoryCurve:
    """The largest total in each of equal stretches of the window."""
    if not len(times):
        return MemoryCurve(0, 0, [])
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
    return MemoryCurve(first, last, points.tolist())


def _host(recording: Recording) -> list[HostRow]:
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
            HostRow(
                process=process,
                pid=int(processes.array("pid")[i]),
                role=processes.text("role")[i],
                max_rss_bytes=highest if highest >= 0 else None,
                rss_bytes=_thinned(values),
            )
        )
    return rows


def _thinned(values: Array) -> list[int]:
    if len(values) <= HOST_POINTS:
        return [int(v) for v in values]
    return [int(part.max()) for part in np.array_split(values, HOST_POINTS)]


def _growth(recording: Recording) -> list[GrowthRow]:
    counters, marks = recording.table("counters"), recording.table("marks")
    rows = []
    for process in recording.table("processes").array("process").tolist():
        found = counter_growth(counters, marks, process)
        if found:
            rows.append(
                GrowthRow(
                    process=process,
                    name=found.name,
                    steps=found.steps,
                    bytes_per_step=found.slope_bytes,
                    low=found.low_bytes,
                    high=found.high_bytes,
                    grows=found.grows,
                )
            )
    return rows
