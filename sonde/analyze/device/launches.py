"""From the host's call to the device's start: latency, queue depth, calls by kind, skew.

Enters: `Work`, `launches`. Leaves: `LaunchStats`, `CallKind`, `QueueDepth`.
    latency of an event = start − end of its launch call (negative where the device began while the
        call was still running, which is normal, or where clocks disagree)
    before launch = the device's start lies before the call's start: only clock skew does that; such
        events are kept, counted, and their worst skew is told
    queue depth = events of a stream that are launched and not started; an event that starts before
        its launch adds nothing, so the depth is never negative
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import group, rows_of
from sonde.analyze.base.intervals import Times, depth
from sonde.analyze.device.events import Work
from sonde.columns import Array, Table, distinct, median


@dataclass(frozen=True)
class Distribution:
    """Five numbers of a sample, in nanoseconds; the median is the one to quote."""

    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    p95_ns: float
    max_ns: int

    @staticmethod
    def of(values: Times) -> Distribution:
        if not len(values):
            return Distribution(0, 0, 0, 0.0, 0.0, 0)
        ordered = np.sort(values)
        # Linear between neighbours, as np.percentile has it, which takes longer to begin than all of this.
        middle, high = np.interp(
            (0.5 * (len(values) - 1), 0.95 * (len(values) - 1)), np.arange(len(values)), ordered
        )
        return Distribution(
            len(values), int(values.sum()), int(ordered[0]), float(middle), float(high), int(ordered[-1])
        )


@dataclass(frozen=True)
class LaunchStats:
    """Launches of one call name: cudaLaunchKernel, hipLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, …"""

    name: str
    events: int  # device events it caused: more than calls for graphs
    call: Distribution  # time of the host in the call
    device: Distribution  # time of the device events
    latency: Distribution
    short_kernels: int  # events shorter than the call that launched them: the host cannot keep ahead


@dataclass(frozen=True)
class Skew:
    """Links that are missing or that no single clock allows."""

    without_launch: int
    before_launch: int
    worst_ns: int  # largest amount by which an event precedes its launch, 0 when none
    before_trace: int = 0  # of those without a launch: launched before the trace began
    before_trace_ns: int = 0  # their time on the device


@dataclass(frozen=True)
class CallKind:
    """Runtime or driver calls of one name."""

    name: str
    kind: str
    api: str
    calls: int
    total_ns: int
    median_ns: float
    max_ns: int


@dataclass(frozen=True)
class QueueDepth:
    """Depth of one stream's queue over time: `depths[i]` holds from `times[i]` to `times[i+1]`."""

    process: int
    device: int
    stream: int
    times: Times
    depths: Times

    @property
    def max(self) -> int:
        return int(self.depths.max()) if len(self.depths) else 0

    @property
    def mean(self) -> float:
        """Time-weighted mean from the first launch to the last start."""
        if len(self.times) < 2:
            return 0.0
        span = np.diff(self.times)
        return float((self.depths[:-1] * span).sum() / span.sum())

    def share_at_least(self, level: int) -> float:
        """Share of the time with a depth of at least `level`."""
        if len(self.times) < 2:
            return 0.0
        span = np.diff(self.times)
        return float(span[self.depths[:-1] >= level].sum() / span.sum())


def skew(work: Work, before_trace: Array | None = None) -> Skew:
    """Events with no launch, and events that start before their launch call does.

    `before_trace` is the mask over `kernels` that `launched_before_trace` gives.
    """
    early = work.launched & (work.start < work.launch_start)
    worst = int((work.launch_start[early] - work.start[early]).max()) if early.any() else 0
    old = np.zeros(len(work), np.bool_) if before_trace is None else before_trace[work.row]
    return Skew(
        int((~work.launched).sum()), int(early.sum()), worst, int(old.sum()), int(work.durations[old].sum())
    )


def launched_before_trace(kernels: Table, launches: Table) -> Array:
    """Mask over `kernels`: work that was in a queue already when the trace began.

    Correlation numbers of a process go up from call to call, so work whose number is below those of all calls in
    the trace was launched before the first. Work without a number, or with a later one, is not known to be.
    """
    launch = rows_of(launches.array("launch"), kernels.array("launch"))
    process, linked = kernels.array("process"), launch >= 0
    owner = np.full(len(launches), -1, np.int64)
    thread = launches.array("thread")
    _, first = group(thread[launch[linked]], process[linked])
    for row in first.tolist():
        owner[thread == thread[launch[linked][row]]] = process[linked][row]
    number = kernels.array("correlation")
    found = np.zeros(len(kernels), np.bool_)
    for of in distinct(owner[owner >= 0]).tolist():
        calls = launches.array("correlation")[owner == of]
        least = calls[calls > 0].min(initial=np.iinfo(np.int64).max)
        found |= (process == of) & (number > 0) & (number < least)
    return found & ~linked & kernels.text("kind").matches(("kernel", "memcpy", "memset"))


def launch_stats(work: Work, launches: Table) -> list[LaunchStats]:
    """One row per launching call name, most events first."""
    linked = work.take(work.launched)
    names = launches.text("name").take(linked.launch)
    rows = []
    for code in distinct(names.codes):
        mine = linked.take(names.codes == code)
        call = mine.launch_end - mine.launch_start
        _, once = np.unique(mine.launch, return_index=True)
        rows.append(
            LaunchStats(
                name=names.values[code] if code >= 0 else "",
                events=len(mine),
                call=Distribution.of(call[once]),
                device=Distribution.of(mine.durations),
                latency=Distribution.of(mine.start - mine.launch_end),
                short_kernels=int((mine.durations < call).sum()),
            )
        )
    return sorted(rows, key=lambda r: (-r.events, r.name))


def call_kinds(launches: Table) -> list[CallKind]:
    """Runtime and driver calls by name, most time first."""
    names, kinds, apis = launches.text("name"), launches.text("kind"), launches.text("api")
    length = launches.array("end_ns") - launches.array("start_ns")
    key = (names.codes.astype(np.int64) * (len(apis.values) + 1)) + apis.codes
    order = np.argsort(key, kind="stable")
    _, first = np.unique(key[order], return_index=True)
    rows = []
    for part in np.split(order, first[1:]) if len(order) else []:
        at = int(part[0])
        mine = length[part]
        rows.append(
            CallKind(
                names[at] or "",
                kinds[at] or "other",
                apis[at] or "runtime",
                len(part),
                int(mine.sum()),
                median(mine),
                int(mine.max()),
            )
        )
    return sorted(rows, key=lambda r: (-r.total_ns, r.name))


def queue_depths(work: Work) -> list[QueueDepth]:
    """One step function per stream; events without a launch have no queue to stand in."""
    rows = []
    linked = work.take(work.launched)
    for process, device in linked.devices():
        here = linked.on(process, device)
        for stream in here.streams():
            mine = here.take(here.stream == stream)
            times, depths = depth(np.minimum(mine.launch_start, mine.start), mine.start)
            rows.append(QueueDepth(process, device, stream, times, depths))
    return rows
