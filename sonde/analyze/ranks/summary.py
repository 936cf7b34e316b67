"""The per-rank stage: one recording in, one small summary out.

Enters: a `Recording` of one rank (or of several processes). Leaves: `RankSummary`: plain numbers and short
arrays, some kilobytes, cheap to send between processes or machines. Everything that compares ranks works on
summaries alone, so the big tables never leave the process that read them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.device.achieved import Achieved, achieved
from sonde.analyze.device.by_op import call_times
from sonde.analyze.device.copies import CopyRow, copy_table
from sonde.analyze.device.critical_path import critical_path
from sonde.analyze.device.events import Work, device_work
from sonde.analyze.device.graphs import GraphUse, graph_use
from sonde.analyze.device.idle import IdleSplit, idle_splits
from sonde.analyze.device.kernel_table import KernelRow, kernel_table
from sonde.analyze.device.launches import (
    CallKind,
    LaunchStats,
    Skew,
    call_kinds,
    launch_stats,
    launched_before_trace,
    queue_depths,
    skew,
)
from sonde.analyze.device.memory import device_memory
from sonde.analyze.device.syncs import DeadWindow, SyncPoint, dead_windows, sync_points
from sonde.analyze.device.time import DeviceTime, device_times
from sonde.analyze.device.verdict import Verdict, verdict
from sonde.analyze.ranks.collectives import Collectives, collectives
from sonde.analyze.ranks.host_idle import HostIdle, host_idle
from sonde.analyze.ranks.stragglers import RankTimes
from sonde.analyze.steps.breakdown import StepBreakdown, mean_parts_ns, step_breakdown
from sonde.analyze.steps.trace import trace_steps
from sonde.columns import Array, Table

MOST_ROWS = 10_000  # of each list; a trace with more distinct kernels than that is not known


@dataclass(frozen=True)
class DeviceSummary:
    """One device of one rank."""

    time: DeviceTime
    idle: IdleSplit
    skew: Skew
    verdict: Verdict
    max_queue_depth: int
    mean_queue_depth: float  # of the deepest stream, weighted by time


@dataclass(frozen=True)
class MemorySummary:
    """Memory of one device at its worst; None where the trace does not say."""

    device: str
    peak_bytes: int
    peak_reserved_bytes: int | None
    fragmentation: float | None  # share of what is reserved that no tensor uses, at the peak of reserved


@dataclass(frozen=True)
class StepSummary:
    """Steps of one rank."""

    count: int
    warmup: int
    median_ns: float
    variability: float
    breakdown: tuple[StepBreakdown, ...]


@dataclass(frozen=True)
class RankSummary:
    """One rank. `source` is for people: a file name."""

    rank: int
    world_size: int
    source: str
    start_ns: int  # first and last moment of the trace's events; 0 when it has none
    end_ns: int
    devices: tuple[DeviceSummary, ...]
    steps: StepSummary
    collectives: Collectives
    kernels: tuple[KernelRow, ...]
    launches: tuple[LaunchStats, ...]
    calls: tuple[CallKind, ...]
    syncs: tuple[SyncPoint, ...]
    dead_windows: tuple[DeadWindow, ...]
    copies: tuple[CopyRow, ...]
    memory: tuple[MemorySummary, ...]
    graphs: GraphUse
    achieved: Achieved
    path_ns: dict[str, int]  # length of the critical path of the whole trace, by what bounds it
    host_idle: HostIdle = field(
        default_factory=HostIdle
    )  # what the host did while the device had nothing to do
    cut: str = ""  # why the file is known to be incomplete

    @property
    def mean_parts_ns(self) -> dict[str, float]:
        return mean_parts_ns(list(self.steps.breakdown))

    def times(self) -> RankTimes | None:
        """The figures that straggler search compares, over all devices of the rank; None without a device."""
        if not self.devices:
            return None
        parts = self.mean_parts_ns
        steps = max(len(self.steps.breakdown), 1)
        return RankTimes(
            rank=self.rank,
            window_ns=sum(d.time.window_ns for d in self.devices),
            compute_ns=sum(d.time.compute_ns for d in self.devices),
            communication_ns=sum(d.time.communication_ns for d in self.devices),
            copy_ns=sum(d.time.copy_ns for d in self.devices),
            idle_ns=sum(d.time.idle_ns for d in self.devices),
            idle_host_ns=sum(d.idle.host_ns + d.idle.sync_ns for d in self.devices),
            loading_ns=int(parts.get("DataLoader", 0.0) * steps),
            operators_ns=self.host_idle.operators_ns,
            regions=self.host_idle.regions,
        )


@dataclass(frozen=True)
class RankTables:
    """The tables of one rank, and who it is."""

    kernels: Table
    launches: Table
    ops: Table
    marks: Table
    memory: Table
    rank: int
    world_size: int
    source: str
    device_name: str = ""  # of the GPU whose peak its kernels are compared with

    def __len__(self) -> int:
        return len(self.kernels) + len(self.launches) + len(self.ops)


def summarise(one: RankTables) -> RankSummary:
    """All analyses of one rank that others need."""
    kernels, launches, ops = one.kernels, one.launches, one.ops
    work = device_work(kernels, launches)
    calls = call_times(work, ops)
    splits = {(s.process, s.device): s for s in idle_splits(work, launches) if s.stream is None}
    depth: dict[tuple[int, int], tuple[int, float]] = {}
    for queue in queue_depths(work):
        at = (queue.process, queue.device)
        depth[at] = max(depth.get(at, (0, 0.0)), (queue.max, queue.mean))
    old = launched_before_trace(kernels, launches)
    devices = []
    for time in device_times(work, kernels):
        at = (time.process, time.device)
        mine: Work = work.on(*at)
        devices.append(
            DeviceSummary(
                time,
                splits[at],
                skew(mine, old),
                verdict(mine, time, splits[at], ops, one.device_name),
                *depth.get(at, (0, 0.0)),
            )
        )
    steps = trace_steps(one.marks, ops, work)
    start_ns, end_ns = _extent(kernels, launches, ops)
    parts = tuple(step_breakdown(steps, work, kernels, launches, ops))
    return RankSummary(
        rank=one.rank,
        world_size=one.world_size,
        source=one.source,
        start_ns=start_ns,
        end_ns=end_ns,
        devices=tuple(devices),
        steps=StepSummary(len(steps), steps.warmup, steps.median_ns, steps.variability, parts),
        collectives=collectives(work, kernels, ops),
        kernels=tuple(kernel_table(work, kernels)[:MOST_ROWS]),
        launches=tuple(launch_stats(work, launches)),
        calls=tuple(call_kinds(launches)[:MOST_ROWS]),
        syncs=tuple(sync_points(work, launches, ops)[:MOST_ROWS]),
        dead_windows=tuple(dead_windows(work)[:MOST_ROWS]),
        copies=tuple(copy_table(work, kernels)),
        memory=tuple(
            MemorySummary(m.device, m.peak_bytes, m.peak_reserved_bytes, m.fragmentation)
            for m in device_memory(one.memory, ops, top=0)
        ),
        graphs=graph_use(work, kernels, launches),
        achieved=achieved(work, ops, one.device_name, end_ns - start_ns, calls),
        host_idle=host_idle(work, ops),
        path_ns=critical_path(work, launches, start_ns, end_ns).by_bound_ns if len(work) else {},
    )


def summaries(table: Callable[[str], Table], source: str, device_name: str = "") -> list[RankSummary]:
    """One summary per rank; `table` gives a table by name, `device_name` the peak to compare with.

    A recording without ranks, or with one, is one rank: traces file device events, calls and Python frames of
    one program under several process ids.
    """
    processes, threads = table("processes"), table("threads")
    names = ("kernels", "launches", "ops", "marks", "memory")
    tables = {n: table(n) for n in names}
    ranks = processes.array("rank")
    told = sorted({r for r in ranks.tolist() if r >= 0})
    if len(told) <= 1:
        rows = {told[0] if told else -1: np.arange(len(processes))}
    else:
        rows = {r: np.flatnonzero(ranks == r) for r in sorted(set(ranks.tolist()))}
    owner = {} if len(rows) == 1 else {n: _owner(tables[n], threads) for n in names}
    found = []
    for rank, members in rows.items():
        mine = tables
        if owner:
            ids = processes.array("process")[members]
            mine = {n: tables[n].take(np.flatnonzero(np.isin(owner[n], ids))) for n in names}
        size = int(processes.array("world_size")[members].max(initial=-1))
        label = (processes.text("command")[int(members[0])] if owner else None) or source
        one = RankTables(**mine, rank=rank, world_size=size, source=label, device_name=device_name)
        if len(one):
            found.append(summarise(one))
    return found


def _owner(table: Table, threads: Table) -> Array:
    """The process of each row: its own column, else its thread's."""
    if "process" in table:
        return table.array("process")
    row = rows_of(threads.array("thread"), table.array("thread"))
    return np.where(row >= 0, threads.array("process")[row] if len(threads) else -1, -1)


def _extent(*tables: Table) -> tuple[int, int]:
    starts = [int(t.array("start_ns").min()) for t in tables if len(t)]
    ends = [int(t.array("end_ns").max()) for t in tables if len(t)]
    return (min(starts), max(ends)) if starts else (0, 0)
