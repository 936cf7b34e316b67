"""Kineto traces: `trace.json[.gz]` of torch.profiler, every generation, → a Recording.

The native reader streams the file into columns; here they become the tables of
the schema, linked: op → launch → kernel, forward → backward, ops to Python
stack and module, memory to ops. What the file lacks or says wrongly is in
`losses`; times are nanoseconds of the epoch, so the clock offset is 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sonde.columns import Table
from sonde.errors import InputError
from sonde.ingest.kineto.device import Device, device_of
from sonde.ingest.kineto.events import LATEST_NS, Events, clock_of, events_of
from sonde.ingest.kineto.marks import counters_of, marks_of, memory_of
from sonde.ingest.kineto.ops import Ops, ops_of
from sonde.ingest.kineto.threads import threads_of, with_kinds
from sonde.ingest.kineto.trace_library import (
    COUNTERS,
    DEVICE,
    INSTANTS,
    LAUNCHES,
    OPS,
    OTHERS,
    Limits,
    NativeTrace,
)
from sonde.link import link
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Clock as MetaClock
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.version import __version__

FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules")
VERSIONS = (
    "schemaVersion",
    "cupti_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "hip_runtime_version",
    "hip_driver_version",
    "roctracer_version",
    "rocprofiler-sdk_version",
)
_KNOWN = {*FLAGS, *VERSIONS, "deviceProperties", "distributedInfo", "traceName", "displayTimeUnit"} | {
    "baseTimeNanoseconds"
}
_OTHER_LOSSES = {
    "time_out_of_range": "a time lies a week or more from the others (0: the driver gave none); left out",
    "absurd_duration": "an event lasts a day or longer; left out",
}


def read(path: Path, limits: Limits | None = None) -> Recording:
    """The trace in `path` as a recording; InputError when there is no trace in it."""
    with NativeTrace(path, limits) as trace:
        return recording_of(trace, path)


def decode(path: Path) -> dict[str, Table]:
    """The tables of a trace before they are linked, for a window, whose clock and lines come first."""
    with NativeTrace(path) as trace:
        return _decoded(trace, path)[1]


def read_all(paths: Sequence[Path], workers: int | None = None) -> list[Recording]:
    """Several traces at once, in the order given: the native reader runs beside Python's lock."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(read, paths))


def recording_of(trace: NativeTrace, path: Path | None) -> Recording:
    """A recording of a trace that was read; copies all it needs."""
    meta, tables = _decoded(trace, path)
    return Recording(meta, link(tables), path)


def _decoded(trace: NativeTrace, path: Path | None) -> tuple[Meta, dict[str, Table]]:
    name = path.name if path else "trace"
    metadata = _metadata(trace)
    first = metadata.get(0, {})
    if not trace.fact("events") and not _KNOWN & set(first) and not _has_empty_events(trace):
        raise InputError(
            f"{path or name} is JSON but not a Kineto trace: its keys are "
            f"{', '.join(list(first)[:5]) or 'none'} and there is no traceEvents",
            "give the file that torch.profiler's export_chrome_trace wrote",
        )
    clock = clock_of(trace, {d: _base_ns(m) for d, m in metadata.items()})
    lost: dict[str, int] = {}
    ops_events, launch_events, device_events, instants, counters, others = (
        events_of(trace, family, clock, lost)
        for family in (OPS, LAUNCHES, DEVICE, INSTANTS, COUNTERS, OTHERS)
    )
    memory_rows = instants.name.equals("[memory]")
    window = _window(ops_events, launch_events, device_events, others, instants)
    threads = threads_of(
        trace,
        (ops_events, launch_events, _subset(instants, memory_rows)),
        {d: _distributed(m) for d, m in metadata.items()},
        name,
        window,
    )
    ops = ops_of(trace, ops_events, clock, threads.thread_of_track)
    device = device_of(trace, device_events, launch_events, threads, ops)
    tables = {
        "processes": threads.processes,
        "threads": with_kinds(threads, ops.table),
        "ops": ops.table,
        "launches": device.launches,
        "kernels": device.kernels,
        "memory": memory_of(trace, instants, threads),
        "counters": counters_of(trace, counters, threads),
        "marks": marks_of(ops, device.kernels, others, threads),
        "losses": _losses(trace, lost, ops, device),
    }
    return _meta(trace, path, name, metadata, window), tables


def _has_empty_events(trace: NativeTrace) -> bool:
    bad = {loss.cause for loss in trace.losses()} & {"bad_event", "not_an_event", "truncated_event"}
    return bool(trace.fact("has_events")) and not bad


def _subset(events: Events, mask: Any) -> Events:
    return replace(
        events,
        track=events.track[mask],
        start_ns=events.start_ns[mask],
        end_ns=events.end_ns[mask],
    )


def _metadata(trace: NativeTrace) -> dict[int, dict[str, Any]]:
    """Top-level entries by document; of a key given twice the last counts."""
    found: dict[int, dict[str, Any]] = {}
    for key, value, is_string, document in trace.metadata():
        parsed: Any = value
        if not is_string:
            try:
                parsed = json.loads(value)
            except (ValueError, RecursionError):
                parsed = value
        found.setdefault(document, {})[key] = parsed
    return found


def _base_ns(metadata: dict[str, Any]) -> int:
    base = metadata.get("baseTimeNanoseconds", 0)
    try:
        return int(base) if abs(int(base)) < LATEST_NS else 0
    except (TypeError, ValueError, OverflowError):
        return 0


def _distributed(metadata: dict[str, Any]) -> dict[str, Any]:
    info = metadata.get("distributedInfo")
    return info if isinstance(info, dict) else {}


def _window(*families: Events) -> tuple[int, int]:
    starts = [int(e.start_ns.min()) for e in families if len(e)]
    ends = [int(e.end_ns.max()) for e in families if len(e)]
    return (min(starts), max(ends)) if starts else (0, 0)


def _losses(trace: NativeTrace, lost: dict[str, int], ops: Ops, device: Device) -> Table:
    rows = [
        (loss.cause, loss.count, loss.unit, f"{loss.meaning}; the first at byte {loss.first_byte}")
        for loss in trace.losses()
    ]
    rows += [(cause, n, "events", _OTHER_LOSSES[cause]) for cause, n in lost.items() if n]
    if not trace.fact("events"):
        rows.append(("no_events", 1, "files", "the file has metadata but no events"))
    if ops.unnested:
        rows.append(
            (
                "calls_not_nested",
                ops.unnested,
                "events",
                "calls of one thread overlap without nesting; the parent is the nearest that holds the call",
            )
        )
    if ops.stacks_cut:
        rows.append(
            (
                "stacks_cut",
                ops.stacks_cut,
                "stacks",
                "the stacks of all ops would take too much memory; the eight frames nearest to the op are kept",
            )
        )
    if device.without_launch:
        rows.append(
            (
                "kernels_without_launch",
                device.without_launch,
                "events",
                "kernels, copies or sets whose host call is not in the trace; kept, with no op",
            )
        )
    if device.before_launch:
        rows.append(
            (
                "kernels_before_launch",
                device.before_launch,
                "events",
                f"device work starts up to {device.earliest_ns / 1000:.3f} us before its host call: "
                "the two clocks are skewed; times are kept as they are",
            )
        )
    if device.launches_without_work:
        rows.append(
            (
                "launches_without_kernels",
                device.launches_without_work,
                "events",
                "launches or copies that no device activity answers: captured into a graph, "
                "dropped by the profiler, or run after it stopped",
            )
        )
    if device.overlaps:
        rows.append(
            (
                "overlap_on_stream",
                device.overlaps,
                "events",
                "device activities overlap the one before them on the same stream; both are kept",
            )
        )
    if device.wrong_external_ids:
        rows.append(
            (
                "external_id_mismatch",
                device.wrong_external_ids,
                "events",
                "the External id of a host call is not that of an op around it; linked by time instead",
            )
        )
    return loss_table(Loss(-1, *row) for row in rows)


def _meta(
    trace: NativeTrace,
    path: Path | None,
    name: str,
    metadata: dict[int, dict[str, Any]],
    window: tuple[int, int],
) -> Meta:
    first = metadata.get(0, {})
    started = ""
    if window[0] > 10**17:  # an absolute time, not one relative to something unknown
        started = datetime.fromtimestamp(window[0] / 1e9, tz=timezone.utc).isoformat()
    details: dict[str, Any] = {
        "deviceProperties": first.get("deviceProperties", first.get("computeProperties", [])),
        "distributedInfo": _distributed(first),
        "traceName": first.get("traceName", ""),
        "baseTimeNanoseconds": _base_ns(first),
        "absolute_time": window[0] > 10**17,
        "flags": {f: bool(first[f]) for f in FLAGS if f in first},
        "metadata": {k: v for k, v in first.items() if k not in _KNOWN},
        "trace": {
            f: trace.fact(f) for f in ("events", "metadata_events", "plain_bytes", "file_bytes", "documents")
        },
    }
    return Meta(
        sonde_version=__version__,
        source="kineto",
        program=name,
        directory=str(path.parent) if path else "",
        started=started,
        duration_s=(window[1] - window[0]) / 1e9,
        versions={v: str(first[v]) for v in VERSIONS if v in first},
        clock=MetaClock(sources={"kineto": 1}),
        details=details,
    )
