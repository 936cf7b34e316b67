"""Chrome trace JSON: calls, kernels, marks, memory and samples as trace events.

Opens in Perfetto, chrome://tracing and every viewer of torch traces. Times are
microseconds with nanosecond digits, relative to the start (`baseTimeNanoseconds`
restores the epoch), written as text so that no digit is lost to a float.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from sonde import json_text
from sonde.columns import Table
from sonde.export.profile import profile_of
from sonde.store.recording import Recording
from sonde.version import __version__

OP_CATEGORY = {"op": "cpu_op", "annotation": "user_annotation", "python": "python_function"}
FIRST_TRACK = 1_000_000_000  # tracks of marks: above every thread id of an operating system
KERNEL_CATEGORY = {
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "sync": "cuda_sync",
    "annotation": "gpu_user_annotation",
}


def write(recording: Recording, stream: BinaryIO) -> None:
    base = recording.meta.clock.epoch_offset_start_ns
    head = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "traceName": recording.meta.program,
        "exporter": f"sonde {__version__}",
    }
    stream.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [\n')
    separator = b""
    for event in _events(recording):
        stream.write(separator + event.encode("utf-8", "replace"))
        separator = b",\n"
    stream.write(b"\n]")
    _samples(recording, stream)
    stream.write(b"}\n")


def _us(ns: int) -> str:
    """Nanoseconds as microseconds, exactly."""
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(ns), 1000)
    return f"{sign}{whole}.{rest:03d}"


def _named(what: str, pid: int, tid: int, name: str) -> str:
    return json.dumps({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}})


def _complete(
    name: str | None, cat: str, pid: Any, tid: Any, start: int, end: int, args: dict[str, Any]
) -> str:
    head = json.dumps({"ph": "X", "cat": cat, "name": name or "?", "pid": pid, "tid": tid})[:-1]
    return f'{head}, "ts": {_us(start)}, "dur": {_us(end - start)}, "args": {json.dumps(args)}}}'


def _events(recording: Recording) -> Iterator[str]:
    processes, threads = recording.table("processes"), recording.table("threads")
    pid_of = dict(zip(processes.array("process").tolist(), processes.array("pid").tolist(), strict=True))
    tid_of: dict[int, tuple[int, int]] = {}
    for row in range(len(processes)):
        pid = int(processes.array("pid")[row])
        name = processes.text("command")[row] or "program"
        yield _named("process_name", pid, 0, name)
    for row in range(len(threads)):
        pid = pid_of.get(int(threads.array("process")[row]), 0)
        tid = int(threads.array("tid")[row])
        tid_of[int(threads.array("thread")[row])] = (pid, tid)
        name = threads.text("name")[row] or threads.text("kind")[row] or "thread"
        yield _named("thread_name", pid, tid, name)
    yield from _ops(recording.table("ops"), tid_of)
    yield from _launches(recording.table("launches"), tid_of)
    yield from _kernels(recording.table("kernels"), recording.table("launches"))
    yield from _marks(recording, pid_of)
    yield from _counters(recording.table("counters"), pid_of)


def _ops(ops: Table, tid_of: dict[int, tuple[int, int]]) -> Iterator[str]:
    columns = [
        ops.array(c).tolist() for c in ("op", "thread", "start_ns", "end_ns", "external_id", "sequence")
    ]
    texts = [ops.text(c).tolist() for c in ("name", "kind", "shapes", "dtypes", "module")]
    for op, thread, start, end, external, sequence, name, kind, shapes, dtypes, module in zip(
        *columns, *texts, strict=True
    ):
        args: dict[str, Any] = {"Ev Idx": op}
        if external >= 0:
            args["External id"] = external
        if sequence >= 0:
            args["Sequence number"] = sequence
        for key, value in (("Input Dims", shapes), ("Input type", dtypes)):
            if value:
                args[key] = _json(value)
        if module:
            args["Module Hierarchy"] = module
        pid, tid = tid_of.get(thread, (0, thread))
        yield _complete(name, OP_CATEGORY.get(kind or "op", "cpu_op"), pid, tid, start, end, args)


def _launches(launches: Table, tid_of: dict[int, tuple[int, int]]) -> Iterator[str]:
    columns = [
        launches.array(c).tolist() for c in ("thread", "start_ns", "end_ns", "correlation", "external_id")
    ]
    texts = [launches.text(c).tolist() for c in ("name", "api")]
    for thread, start, end, correlation, external, name, api in zip(*columns, *texts, strict=True):
        args = {k: v for k, v in (("correlation", correlation), ("External id", external)) if v >= 0}
        pid, tid = tid_of.get(thread, (0, thread))
        yield _complete(
            name, "cuda_driver" if api == "driver" else "cuda_runtime", pid, tid, start, end, args
        )


def _kernels(kernels: Table, launches: Table) -> Iterator[str]:
    external_of = dict(
        zip(launches.array("launch").tolist(), launches.array("external_id").tolist(), strict=True)
    )
    names = ("device", "stream", "start_ns", "end_ns", "correlation", "launch", "bytes")
    columns = [kernels.array(c).tolist() for c in names]
    texts = [kernels.text(c).tolist() for c in ("name", "kind", "grid", "block", "collective")]
    for device, stream, start, end, correlation, launch, size, name, kind, grid, block, collective in zip(
        *columns, *texts, strict=True
    ):
        # An annotation is drawn on its stream and is no work of it: readers tell by the missing argument.
        args: dict[str, Any] = {} if kind == "annotation" else {"device": device, "stream": stream}
        if correlation >= 0:
            args["correlation"] = correlation
        if (external := external_of.get(launch, -1)) >= 0:
            args["External id"] = external
        if size >= 0:
            args["bytes"] = size
        args.update({k: _json(v) for k, v in (("grid", grid), ("block", block)) if v})
        if isinstance(told := _json(collective or "{}"), dict):
            args.update(told)
        yield _complete(name, KERNEL_CATEGORY.get(kind or "", "kernel"), device, stream, start, end, args)


def _marks(recording: Recording, pid_of: dict[int, int]) -> Iterator[str]:
    """Marks that the calls and kernels do not show already: those of a trace were made from its annotations."""
    ops, kernels, marks = (recording.table(t) for t in ("ops", "kernels", "marks"))
    shown: set[tuple[int, int]] = set()
    for table in (ops, kernels):
        notes = table.take(table.text("kind").equals("annotation"))
        shown.update(zip(notes.array("start_ns").tolist(), notes.array("end_ns").tolist(), strict=True))
    tracks: dict[tuple[int, str | None], int] = {}
    columns = [marks.array(c).tolist() for c in ("process", "number", "start_ns", "end_ns")]
    for process, number, start, end, kind, name in zip(
        *columns, marks.text("kind").tolist(), marks.text("name").tolist(), strict=True
    ):
        if (start, end) in shown:
            continue
        title = f"ProfilerStep#{number}" if kind == "step" else name or kind
        if kind == "window":
            yield _complete(title, "Trace", "Spans", "PyTorch Profiler", start, end, {})
            continue
        pid = pid_of.get(process, 0)
        if (pid, kind) not in tracks:
            tracks[pid, kind] = FIRST_TRACK + len(tracks)
            yield _named("thread_name", pid, tracks[pid, kind], f"{kind}s")
        yield _complete(title, "user_annotation", pid, tracks[pid, kind], start, end, {})


def _counters(counters: Table, pid_of: dict[int, int]) -> Iterator[str]:
    columns = [counters.array(c).tolist() for c in ("time_ns", "process", "value")]
    for time, process, value, name in zip(*columns, counters.text("name").tolist(), strict=True):
        head = json.dumps({"ph": "C", "name": name, "pid": pid_of.get(process, 0), "args": {name: value}})
        yield f'{head[:-1]}, "ts": {_us(time)}}}'


def _samples(recording: Recording, stream: BinaryIO) -> None:
    """Stack samples in the trace format's own `stackFrames` and `samples` sections."""
    if len(recording.table("samples")) == 0:
        return
    profile = profile_of(recording)
    threads = recording.table("threads")
    processes = recording.table("processes")
    pid_of = dict(zip(processes.array("process").tolist(), processes.array("pid").tolist(), strict=True))
    place_of = {
        thread: (pid_of.get(process, 0), tid)
        for thread, process, tid in zip(
            *(threads.array(c).tolist() for c in ("thread", "process", "tid")), strict=True
        )
    }
    frames: dict[str, dict[str, Any]] = {}
    for node, (parent, frame) in enumerate(zip(profile.parent.tolist(), profile.frame.tolist(), strict=True)):
        frames[str(node)] = {
            "name": profile.labels[frame],
            **({"parent": str(parent)} if parent >= 0 else {}),
        }
    stream.write(b',\n"stackFrames": ' + json.dumps(frames).encode("utf-8", "replace") + b',\n"samples": [')
    separator = b"\n"
    for i in np.argsort(profile.time_ns, kind="stable").tolist():
        pid, tid = place_of.get(int(profile.thread[i]), (0, int(profile.thread[i])))
        head = json.dumps({"cpu": 0, "pid": pid, "tid": tid, "name": "cpu", "sf": str(profile.stack[i])})[:-1]
        line = f'{head}, "ts": {_us(int(profile.time_ns[i]))}, "weight": {int(profile.weight_ns[i])}}}'
        stream.write(separator + line.encode())
        separator = b",\n"
    stream.write(b"\n]")


def _json(text: str) -> Any:
    try:
        return json_text.loads(text)
    except ValueError:
        return text
