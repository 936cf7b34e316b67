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

from sonde.analyze.device_events import Work
from sonde.analyze.intervals import Times, depth
from sonde.columns import Table


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
        middle, high = np.percentile(values, [50, 95])
        return Distribution(
            len(values), int(values.sum()), int(values.min()), float(middle), float(high), int(values.max())
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


def skew(work: Work) -> Skew:
    """Events with no launch, and events that start before their launch call does."""
    early = work.launched & (work.start < work.launch_start)
    worst = int((work.launch_start[early] - work.start[early]).max()) if early.any() else 0
    return Skew(int((~work.launched).sum()), int(early.sum()), worst)


def launch_stats(work: Work, launches: Table) -> list[LaunchStats]:
    """One row per launching call name, most events first."""
    linked = work.take(work.launched)
    names = launches.text("name").take(linked.launch)
    rows = []
    for code in np.unique(names.codes):
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
    for group in np.split(order, first[1:]) if len(order) else []:
        at = int(group[0])
        mine = length[group]
        rows.append(
            CallKind(
                names[at] or "",
                kinds[at] or "other",
                apis[at] or "runtime",
                len(group),
                int(mine.sum()),
                float(np.median(mine)),
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
