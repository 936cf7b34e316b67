"""`ops`: the operator table, with the columns that users of torch.profiler know.

With `--native` each row also says where the operator's own time went: kernels, waits, spin, page faults, …
(`sonde.views.native_split`). A recording without recorded calls shows what samples say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

from sonde.analyze.device.launches import launched_before_trace
from sonde.analyze.ops.sampled import sample_groups, sampled_ops
from sonde.analyze.ops.table import GROUPINGS, op_groups, op_table
from sonde.analyze.samples.native_split import NativeSplit, native_split
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.columns import Column, matching, ordered
from sonde.views.native_split import native_json
from sonde.views.options import ShowOptions
from sonde.views.set_apart import Apart, extent_of


@dataclass(frozen=True)
class OpRow:
    """An operator, or an operator with one shape, module, line, thread or phase."""

    name: Annotated[str, Column("Name", meaning="operator, or [memory]: what no operator allocated")]
    key: Annotated[str | None, Column("Group", meaning="what the rows are grouped by beside the name")]
    kind: Annotated[
        str | None, Column("Kind", meaning="op, backward, compiled or annotation; unknown from samples")
    ]
    self_ms: Annotated[
        float, Column("Self CPU", "ms", "in the operator, not in those it calls; not off the CPU")
    ]
    total_ms: Annotated[
        float, Column("CPU total", "ms", "with the operators it calls; without time off the CPU")
    ]
    self_wall_ms: Annotated[
        float | None, Column("Self wall", "ms", "as Self CPU, with time ready but off the CPU")
    ]
    total_wall_ms: Annotated[
        float | None, Column("Wall total", "ms", "as CPU total, with time ready but off the CPU")
    ]
    device_self_ms: Annotated[float | None, Column("Self device", "ms", "device time of what it launched")]
    device_total_ms: Annotated[
        float | None, Column("Device total", "ms", "the same with the operators it calls")
    ]
    calls: Annotated[int | None, Column("# of Calls", "count", "recorded calls")]
    preempted: Annotated[
        int | None, Column("Preempted", "count", "calls that lost at least 0.5 ms off the CPU")
    ]
    cpu_mem_bytes: Annotated[int | None, Column("CPU Mem", "bytes", "allocated less freed, callees included")]
    self_cpu_mem_bytes: Annotated[
        int | None, Column("Self CPU Mem", "bytes", "allocated less freed by itself")
    ]
    device_mem_bytes: Annotated[
        int | None, Column("Device Mem", "bytes", "allocated less freed, callees included")
    ]
    self_device_mem_bytes: Annotated[
        int | None, Column("Self device Mem", "bytes", "allocated less freed by itself")
    ]
    flops: Annotated[float | None, Column("FLOPs", "FLOP", "of the calls whose FLOPs are known")]
    samples: Annotated[
        int | None, Column("Samples", "count", "samples behind the row, where no call was recorded")
    ]
    native: dict[str, Any] | None = None  # with --native: where its own time went


@dataclass(frozen=True)
class Ops:
    """The table, and the sums that its shares are of."""

    by: str
    source: str  # calls, or samples where no call was recorded
    self_ms: float  # of all rows, also of those that --filter left out
    self_wall_ms: float | None
    device_self_ms: float
    device_elsewhere_ms: float  # device time that no recorded operator caused
    launched_before_trace_ms: float  # the part of it that was launched before the trace began
    rows: list[OpRow]
    apart: Apart | None = None  # from samples: on the CPU, and in no row


_TIMES = ("self_ns", "total_ns", "self_wall_ns", "total_wall_ns", "device_self_ns", "device_total_ns")
_OTHER = (
    "calls", "preempted", "cpu_mem_bytes", "self_cpu_mem_bytes", "device_mem_bytes", "self_device_mem_bytes",
)  # fmt: skip


def data(recording: Recording, options: ShowOptions) -> Ops:
    """Rows by `--by`, largest self time first."""
    by = options.by or "name"
    if by not in GROUPINGS:
        raise UsageError(f"--by {by!r} is not known", "use one of " + ", ".join(GROUPINGS))
    if not len(recording.table("ops")):
        return _from_samples(recording, by, options)
    grouped = _rows(recording, by)
    if options.native:
        splits = _splits(recording, by)
        grouped = [(replace(row, native=native_json(splits.get(group))), group) for row, group in grouped]
    rows = [row for row, _ in grouped]
    device_ms = sum(row.device_self_ms or 0.0 for row in rows)
    kernels = recording.table("kernels")
    lasted = (kernels.array("end_ns") - kernels.array("start_ns")) / 1e6
    work = kernels.text("kind").matches(("kernel", "memcpy", "memset"))
    old = launched_before_trace(kernels, recording.table("launches")) & (kernels.array("op") < 0)
    return Ops(
        by=by,
        source="calls",
        self_ms=sum(row.self_ms for row in rows),
        self_wall_ms=sum(row.self_wall_ms or 0.0 for row in rows),
        device_self_ms=device_ms,
        device_elsewhere_ms=max(float(lasted[work].sum()) - device_ms, 0.0),
        launched_before_trace_ms=float(lasted[old].sum()),
        rows=_chosen(rows, options),
    )


def _rows(recording: Recording, by: str) -> list[tuple[OpRow, int]]:
    table = op_table(
        recording.table("ops"),
        recording.table("memory"),
        recording.table("kernels"),
        recording.table("marks"),
        recording.table("threads"),
        by=by,
        samples=recording.table("samples"),
    )
    times = {c.replace("_ns", "_ms"): (table.array(c) / 1e6).tolist() for c in _TIMES}
    other = {c: table.array(c).tolist() for c in _OTHER}
    kinds = table.text("kind").tolist()
    names, keys, flops = (
        table.text("name").tolist(),
        table.text("key").tolist(),
        table.array("flops").tolist(),
    )
    return [
        (
            OpRow(
                name=name or "?",
                key=keys[i],
                kind=kinds[i],
                **{c: values[i] for c, values in times.items()},
                **{c: values[i] for c, values in other.items()},
                flops=None if math.isnan(flops[i]) else flops[i],
                samples=None,
            ),
            group,
        )
        for i, (name, group) in enumerate(zip(names, table.array("group").tolist(), strict=True))
    ]


def _splits(recording: Recording, by: str) -> dict[int, NativeSplit]:
    ops, samples = recording.table("ops"), recording.table("samples")
    stacks, frames = recording.table("stacks"), recording.table("frames")
    groups = op_groups(ops, by, recording.table("marks"), recording.table("threads"))
    return native_split(sample_groups(samples, ops, groups, stacks, frames, by), samples, stacks, frames)


def _from_samples(recording: Recording, by: str, options: ShowOptions) -> Ops:
    """No call was recorded: the sampled stacks still name operators. Calls and memory are not known."""
    samples, stacks, frames = (recording.table(n) for n in ("samples", "stacks", "frames"))
    extent = extent_of(recording, options)
    apart = extent.apart(samples.take(~samples.text("state").equals("waiting")))
    samples = samples.take(extent.split(samples)[1] > 0)
    table, group = sampled_ops(samples, stacks, frames)
    splits = native_split(group, samples, stacks, frames) if options.native else {}
    unknown = {c.replace("_ns", "_ms"): None for c in (*_TIMES[2:], *_OTHER)}
    rows = [
        OpRow(
            name=name or "?",
            key=None,
            kind=None,
            self_ms=int(table.array("self_ns")[i]) / 1e6,
            total_ms=int(table.array("total_ns")[i]) / 1e6,
            **unknown,
            flops=None,
            samples=int(table.array("samples")[i]),
            native=native_json(splits.get(i)) if options.native else None,
        )
        for i, name in enumerate(table.text("name").tolist())
    ]
    if rows and by != "name":
        raise UsageError(
            f"--by {by} needs recorded calls, and no profiling window was recorded",
            "record every step with: sonde run --window all …",
        )
    whole = sum(row.self_ms for row in rows)
    return Ops(by, "samples", whole, None, 0.0, 0.0, 0.0, _chosen(rows, options), apart)


def _chosen(rows: list[OpRow], options: ShowOptions) -> list[OpRow]:
    rows = matching(rows, options.filter, lambda row: f"{row.name} {row.key or ''}")
    if options.op:
        rows = [row for row in rows if row.name == options.op]
    return ordered(rows, OpRow, options.sort, "self_ms")
