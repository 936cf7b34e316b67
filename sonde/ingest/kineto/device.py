"""Runtime calls and device activities of a trace → `launches` and `kernels`, linked.

op → launch: by External id where that op is running at the time of the call,
else the innermost op around the call. Some versions of the profiler write a
call's own correlation as its External id, which means that it has none.
launch → kernel: by correlation; a graph launch has many kernels.
Kernels that have no launch, or start before it (two clocks), are kept as they
are and counted; nothing is clipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base import call_tree
from sonde.analyze.device.kernel_names import class_of
from sonde.columns import Array, Column, Table, Text, distinct
from sonde.errors import InputError
from sonde.ingest.kineto.events import Events
from sonde.ingest.kineto.launch_kind import kind_of
from sonde.ingest.kineto.ops import COLLECTIVE_KEYS, Ops
from sonde.ingest.kineto.threads import Threads
from sonde.ingest.kineto.trace_library import DEVICE, LAUNCHES, WORD_ID, NativeTrace
from sonde.store import build

_LAUNCH_ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "correlation": ("i64", ("correlation",)),
    "external_id": ("i64", ("External id", "external id")),
}
_KERNEL_ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    **_LAUNCH_ARGUMENTS,
    "device": ("i64", ("device",)),
    "stream": ("i64", ("stream",)),
    "graph": ("i64", ("graph id",)),
    "graph_node": ("i64", ("graph node id",)),
    "bytes": ("i64", ("bytes", "size")),
    "bandwidth_gbs": ("f64", ("memory bandwidth (GB/s)",)),
    "grid": ("text", ("grid",)),
    "block": ("text", ("block",)),
    "registers": ("i64", ("registers per thread",)),
    "shared_bytes": ("i64", ("shared memory",)),
    "occupancy": ("f64", ("est. achieved occupancy %", "theoretical occupancy %")),
    "blocks_per_sm": ("f64", ("blocks per SM",)),
    "warps_per_sm": ("f64", ("warps per SM",)),
}
_KIND_OF_CATEGORY = {
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
    "cuda_sync": "sync",
    "xpu_sync": "sync",
    "cuda_event": "sync",
    "gpu_user_annotation": "annotation",
    "cuda_profiler_range": "annotation",
    "mtia_insight": "annotation",
}
_WORK = ("kernel", "memcpy", "memset")  # what a host call causes
_CAUSES = ("launch", "graph", "copy", "set")  # host calls that cause it
_WRONG_IDS = 0.05  # a larger share of wrong External ids means that they mean something else
_NUMBER = re.compile(r"\d{1,18}")
MOST_DEVICES, MOST_STREAMS = 256, 4096  # of one file; analysis goes through them one by one


@dataclass(frozen=True)
class Device:
    """The two tables and what is doubtful in their links."""

    launches: Table
    kernels: Table
    without_launch: int
    before_launch: int
    earliest_ns: int  # how far the worst kernel starts before its launch
    wrong_external_ids: int  # host calls whose External id is not that of an op around them
    launches_without_work: int  # launches and copies that no device activity answers
    overlaps: int  # activities that start before the one before them on their stream has ended


def _extra(trace: NativeTrace, family: int, known: dict[str, tuple[str, tuple[str, ...]]]) -> Array:
    names = {key for _, keys in known.values() for key in keys} | set(COLLECTIVE_KEYS)
    return trace.compose(family, [key not in names for key in trace.argument_keys()])


def _by_number(numbers: Array, rows: Array, wanted: Array) -> Array:
    """For each wanted number the row that has it, -1 when none; of several the last given."""
    result = np.full(len(wanted), -1, np.int64)
    if not len(numbers):
        return result
    order = np.argsort(numbers, kind="stable")
    numbers, rows = numbers[order], rows[order]
    at = np.searchsorted(numbers, wanted, side="right") - 1
    hit = (at >= 0) & (wanted > 0)
    hit[hit] = numbers[at[hit]] == wanted[hit]
    result[hit] = rows[at[hit]]
    return result


def _in_document(numbers: Array, document: Array) -> Array:
    """Ids of different documents of one file made distinct; all as they are for a single one."""
    return numbers if not len(document) or not document.any() else numbers | (document.astype(np.int64) << 56)


def _by_external_id(ops: Ops, documents: Array, external: Array) -> Array:
    """The op or annotation that has each id, -1 when none."""
    ids = _in_document(ops.table.array("external_id"), documents[ops.track])
    rows = np.flatnonzero((ids > 0) & ~ops.table.text("kind").matches(("python", "module")))
    return _by_number(ids[rows], rows, external)


def launches_of(trace: NativeTrace, events: Events, threads: Threads, ops: Ops) -> tuple[Table, int]:
    """The `launches` table, ordered as in the file, and how many External ids were wrong."""
    args = {k: events.restrict(v) for k, v in trace.arguments(LAUNCHES, _LAUNCH_ARGUMENTS).items()}
    thread = threads.thread_of_track[events.track]
    documents = trace.tracks("document")
    args["external_id"][args["external_id"] == args["correlation"]] = -1
    external = _in_document(args["external_id"], documents[events.track])
    table = ops.table
    op = _by_external_id(ops, documents, external)
    named = np.flatnonzero(op >= 0)
    running = (table.array("start_ns")[op[named]] <= events.start_ns[named]) & (
        events.start_ns[named] <= table.array("end_ns")[op[named]]
    )
    wrong = int((~running).sum())
    op[named[~running]] = -1
    if wrong > _WRONG_IDS * len(named):
        op[:] = -1
        args["external_id"][:] = -1
    open_rows = np.flatnonzero(op < 0)
    for eligible in (table.text("kind").matches(("op", "backward", "compiled")), None):
        found = call_tree.enclose_in(table, eligible, thread[open_rows], events.start_ns[open_rows])
        op[open_rows] = found
        open_rows = open_rows[found < 0]
    names = events.name
    kinds = Text.of([kind_of(v) for v in names.values])
    apis = Text.of(["driver" if v.endswith("_driver") else "runtime" for v in events.category.values])
    table = build.table(
        "launches",
        launch=np.arange(len(events), dtype=np.int64),
        thread=thread,
        start_ns=events.start_ns,
        end_ns=events.end_ns,
        name=names,
        kind=_through(names, kinds),
        api=_through(events.category, apis),
        correlation=args["correlation"],
        external_id=args["external_id"],
        op=op,
        extra=trace.text(events.restrict(_extra(trace, LAUNCHES, _LAUNCH_ARGUMENTS))),
    )
    return table, wrong


def _through(column: Text, of_value: Text) -> Text:
    """A property of the distinct values of a column, spread over its rows."""
    codes = np.append(of_value.codes, np.int32(-1))[column.codes]
    return Text(codes.astype(np.int32), of_value.values)


def device_of(
    trace: NativeTrace, events: Events, launch_events: Events, threads: Threads, ops: Ops
) -> Device:
    """Both tables, with kernels linked to launches and ops."""
    launches, wrong = launches_of(trace, launch_events, threads, ops)
    args = {k: events.restrict(v) for k, v in trace.arguments(DEVICE, _KERNEL_ARGUMENTS).items()}
    documents = trace.tracks("document")
    own_document = documents[events.track]
    kind = _kernel_kinds(events)
    correlation = args["correlation"]
    launch = _launch_of(launches, documents[launch_events.track], correlation, own_document)
    op = np.where(launch >= 0, np.append(launches.array("op"), -1)[launch], -1)
    if not wrong or (launches.array("external_id") > 0).any():
        external = np.where(args["external_id"] == correlation, -1, args["external_id"])
        by_external = _by_external_id(ops, documents, _in_document(external, own_document))
        # A cause starts before its effect; annotations on the device are nobody's work.
        fits = kind.matches((*_WORK, "sync")) & (by_external >= 0) & (op < 0)
        fits[fits] = ops.table.array("start_ns")[by_external[fits]] <= events.end_ns[fits]
        op = np.where(fits, by_external, op)
    collective = _collectives(trace, events, ops, op)
    process = np.append(threads.threads.array("process"), -1)[np.append(launches.array("thread"), -1)[launch]]
    fallback = np.array(
        [threads.process_of_document.get(int(d), 0) for d in range(int(documents.max(initial=0)) + 1)]
    )
    process = np.where(process >= 0, process, fallback[own_document])
    columns: dict[str, Column] = {
        "kernel": np.arange(len(events), dtype=np.int64),
        "process": process.astype(np.int32),
        "device": _device(trace, events, args["device"]),
        "stream": _stream(trace, events, args["stream"]),
        "start_ns": events.start_ns,
        "end_ns": events.end_ns,
        "name": events.name,
        "kind": kind,
        "class": _classes(events.name, kind, collective),
        "correlation": correlation,
        "launch": launch,
        "op": op,
        "graph": np.where(args["graph"] > 0, args["graph"], -1),
        "graph_node": np.where(args["graph_node"] > 0, args["graph_node"], -1),
        "bytes": args["bytes"],
        "bandwidth_gbs": args["bandwidth_gbs"],
        "grid": trace.text(args["grid"]),
        "block": trace.text(args["block"]),
        "registers": _int32(args["registers"]),
        "shared_bytes": _int32(args["shared_bytes"]),
        "occupancy": args["occupancy"],
        "blocks_per_sm": args["blocks_per_sm"],
        "warps_per_sm": args["warps_per_sm"],
        "collective": collective,
        "extra": trace.text(events.restrict(_extra(trace, DEVICE, _KERNEL_ARGUMENTS))),
    }
    work = kind.matches(_WORK)
    linked = work & (launch >= 0)
    early = np.append(launches.array("start_ns"), 0)[launch][linked] - events.start_ns[linked]
    return Device(
        launches,
        build.table("kernels", len(events), **columns),
        int((work & (launch < 0)).sum()),
        int((early > 0).sum()),
        int(early.max(initial=0)),
        wrong,
        _unanswered(launches, launch),
        _overlaps(columns, work),
    )


def _unanswered(launches: Table, launch: Array) -> int:
    asks = launches.text("kind").matches(("launch", "copy"))  # a set of no bytes has no activity
    asks |= np.array(["GraphLaunch" in v for v in launches.text("name").values] + [False])[
        launches.text("name").codes
    ]
    answered = np.zeros(len(launches), np.bool_)
    answered[launch[launch >= 0]] = True
    return int((asks & ~answered & (launches.array("correlation") > 0)).sum())


def _overlaps(kernels: dict[str, Column], work: Array) -> int:
    rows = np.flatnonzero(work)
    names = ("process", "device", "stream", "start_ns", "end_ns")
    process, device, stream, start, end = (np.asarray(kernels[c])[rows] for c in names)
    order = np.lexsort((start, stream, device, process))
    before, after = order[:-1], order[1:]
    same = (process[after] == process[before]) & (device[after] == device[before])
    same &= stream[after] == stream[before]
    return int((same & (start[after] < end[before])).sum())


def _launch_of(launches: Table, launch_document: Array, correlation: Array, own_document: Array) -> Array:
    """The host call with the same correlation; calls that cause work win over others (waits)."""
    number = _in_document(launches.array("correlation"), launch_document)
    rank = launches.text("kind").matches(_CAUSES)
    rows = np.flatnonzero(launches.array("correlation") > 0)
    rows = rows[np.argsort(rank[rows], kind="stable")]  # the last of several is taken: causes last
    return _by_number(number[rows], rows, _in_document(correlation, own_document))


def _kernel_kinds(events: Events) -> Text:
    kinds = ["kernel", "memcpy", "memset", "sync", "annotation"]
    of_category = np.array(
        [kinds.index(_KIND_OF_CATEGORY.get(v, "kernel")) for v in events.category.values] + [0], np.int32
    )
    codes = of_category[events.category.codes]
    # MTIA has one category for all: its DMA requests are copies.
    is_dma = np.array([v.startswith("dma") for v in events.name.values] + [False])
    codes[(codes == 0) & is_dma[events.name.codes]] = 1
    return Text(codes.astype(np.int32), kinds)


def _classes(name: Text, kind: Text, collective: Text) -> Text:
    classes = ["compute", "communication", "copy", "sync"]
    width = len(kind.values)
    pairs = name.codes.astype(np.int64) * width + kind.codes
    distinct, inverse = np.unique(pairs, return_inverse=True)
    found = [
        class_of(name.values[p // width] if p >= 0 else "", kind.values[p % width]) for p in distinct.tolist()
    ]
    codes = np.array([-1 if c is None else classes.index(c) for c in found], np.int32)
    result = codes[inverse] if len(codes) else np.empty(0, np.int32)
    # A kernel that an op with collective arguments launched is communication, whatever its name.
    result = np.where((collective.codes >= 0) & (result == 0), 1, result)
    return Text(result.astype(np.int32), classes)


def _collectives(trace: NativeTrace, events: Events, ops: Ops, op: Array) -> Text:
    """The collective's arguments: the kernel's own, else those of the op around its launch."""
    own = events.restrict(trace.compose(DEVICE, [k in COLLECTIVE_KEYS for k in trace.argument_keys()]))
    from_op = Text(np.append(ops.collective.codes, np.int32(-1))[op], ops.collective.values)
    joined = Text.concat([trace.text(own), from_op])
    first, second = joined.codes[: len(own)], joined.codes[len(own) :]
    return Text(np.where(first >= 0, first, second).astype(np.int32), joined.values)


def _int32(values: Array) -> Array:
    """What fits; an absurd figure is not known."""
    return np.where((values >= -1) & (values < 2**31), values, -1).astype(np.int32)


def _device(trace: NativeTrace, events: Events, given: Array) -> Array:
    """The device argument; else the trace's process id, which for a GPU is its index."""
    pid = trace.tracks("pid")[events.track]
    small = (pid >= 0) & (pid < 4096)
    device = np.where((given >= 0) & (given < 2**31), given, np.where(small, pid, -1)).astype(np.int32)
    count = len(distinct(device))
    if count > MOST_DEVICES:
        raise InputError(
            f"the trace has work on {count} devices; at most {MOST_DEVICES} are read from one file"
        )
    return device


def _stream(trace: NativeTrace, events: Events, given: Array) -> Array:
    """The stream argument; else the trace's thread id ("stream 7" in old traces)."""
    tid = trace.tracks("tid").copy()
    for track in np.flatnonzero(tid < WORD_ID + 2**32).tolist():
        found = _NUMBER.search(trace.string(int(tid[track]) - WORD_ID))
        tid[track] = int(found[0]) if found else -1
    stream = np.where(given >= 0, given, tid[events.track])
    count = len(distinct(stream))
    if count > MOST_STREAMS:
        raise InputError(
            f"the trace has work on {count} streams; at most {MOST_STREAMS} are read from one file"
        )
    return stream
