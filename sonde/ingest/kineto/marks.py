"""Steps, regions and windows of a trace → `marks`; memory events → `memory`; readings → `counters`."""

from __future__ import annotations

import json
import re

import numpy as np

from sonde.columns import Array, Table, Text
from sonde.ingest.kineto.events import Events
from sonde.ingest.kineto.ops import Ops
from sonde.ingest.kineto.threads import Threads
from sonde.ingest.kineto.trace_library import COUNTERS, INSTANTS, NativeTrace
from sonde.store import build

_STEP = re.compile(r"^ProfilerStep#?\s*(\d+)?")
_MEMORY_ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "address": ("i64", ("Addr",)),
    "bytes": ("i64", ("Bytes",)),
    "allocated_bytes": ("i64", ("Total Allocated",)),
    "reserved_bytes": ("i64", ("Total Reserved",)),
    "type": ("i64", ("Device Type",)),
    "index": ("i64", ("Device Id",)),
}
# c10::DeviceType; ROCm builds report themselves as CUDA.
_DEVICE_TYPE = {
    0: "cpu",
    1: "cuda",
    6: "hip",
    9: "xla",
    12: "xpu",
    13: "mps",
    15: "hpu",
    18: "ipu",
    19: "mtia",
    20: "privateuse1",
}


def marks_of(ops: Ops, kernels: Table, others: Events, threads: Threads) -> Table:
    """Annotations of CPU and GPU, the profiler's window, and spans of unknown categories."""
    table = ops.table
    rows = np.flatnonzero(table.text("kind").equals("annotation"))
    thread = table.array("thread")[rows]
    name = table.text("name").take(rows)
    gpu = np.flatnonzero(kernels.text("kind").equals("annotation"))
    places = [
        json.dumps({"device": d, "stream": s})
        for d, s in zip(
            kernels.array("device")[gpu].tolist(), kernels.array("stream")[gpu].tolist(), strict=True
        )
    ]
    categories = [others.category[i] for i in range(len(others))]
    other_thread = threads.thread_of_track[others.track]
    names = Text.concat([name, kernels.text("name").take(gpu), others.name])
    kinds, numbers = _kinds(names)
    window = [c == "Trace" for c in categories]
    at = len(rows) + len(gpu)
    kind = [*kinds[: len(rows)], *["region"] * len(gpu), *["window" if w else "region" for w in window]]
    process = [
        threads.threads.array("process")[thread],
        kernels.array("process")[gpu],
        np.where(other_thread >= 0, np.append(threads.process_of_track, 0)[others.track], 0),
    ]
    return build.table(
        "marks",
        mark=np.arange(at + len(others), dtype=np.int32),
        process=np.concatenate(process).astype(np.int32),
        thread=np.concatenate([thread, np.full(len(gpu), -1), other_thread]).astype(np.int32),
        kind=Text.of(kind),
        name=names,
        number=np.concatenate([numbers[: len(rows)], np.full(len(gpu) + len(others), -1)]),
        start_ns=np.concatenate(
            [table.array("start_ns")[rows], kernels.array("start_ns")[gpu], others.start_ns]
        ),
        end_ns=np.concatenate([table.array("end_ns")[rows], kernels.array("end_ns")[gpu], others.end_ns]),
        extra=Text.of([None] * len(rows) + places + [json.dumps({"category": c}) for c in categories]),
    )


def _kinds(names: Text) -> tuple[list[str], Array]:
    """step and its number for ProfilerStep#N, region for the rest."""
    kind, number = [], []
    for value in names.values:
        found = _STEP.match(value)
        kind.append("step" if found else "region")
        number.append(int(found[1]) if found and found[1] and len(found[1]) < 10 else -1)
    codes = names.codes.tolist()
    numbers = np.array([*number, -1], np.int32)[names.codes] if codes else np.empty(0, np.int32)
    return [kind[c] if c >= 0 else "region" for c in codes], numbers


def memory_of(trace: NativeTrace, instants: Events, threads: Threads) -> Table:
    """The `memory` table; which operator allocated is for `sonde.link.memory` to say."""
    rows = np.flatnonzero(instants.name.equals("[memory]"))
    args = {k: instants.restrict(v)[rows] for k, v in trace.arguments(INSTANTS, _MEMORY_ARGUMENTS).items()}
    # -1 is a lawful size (a free of one byte), so absence is asked of the key, not of the value.
    thread = threads.thread_of_track[instants.track[rows]]
    time = instants.start_ns[rows]
    devices, inverse = np.unique(
        np.stack([args["type"], args["index"]]) if len(rows) else np.empty((2, 0), np.int64),
        axis=1,
        return_inverse=True,
    )
    labels = [_device_name(int(t), int(i)) for t, i in devices.T]
    return build.table(
        "memory",
        time_ns=time,
        thread=thread,
        device=Text(np.asarray(inverse, np.int32).reshape(-1), labels),
        address=args["address"],
        bytes=args["bytes"],
        allocated_bytes=args["allocated_bytes"],
        reserved_bytes=args["reserved_bytes"],
    )


def _device_name(kind: int, index: int) -> str:
    word = _DEVICE_TYPE.get(kind, f"device{kind}")
    return word if kind == 0 or index < 0 else f"{word}:{index}"


def counters_of(trace: NativeTrace, events: Events, threads: Threads) -> Table:
    """Counter events: one row per reading, named `event/series`, or `event` where both are one."""
    composed = trace.text(events.restrict(trace.compose(COUNTERS, [True] * len(trace.argument_keys()))))
    time, process, name, value = [], [], [], []
    for row in range(len(events)):
        text = composed[row]
        for series, reading in (json.loads(text) if text else {}).items():
            if isinstance(reading, (int, float)) and not isinstance(reading, bool):
                time.append(int(events.start_ns[row]))
                process.append(int(threads.process_of_track[events.track[row]]))
                counter = events.name[row]
                name.append(series if series == counter else f"{counter}/{series}")
                value.append(float(reading))
    return build.table(
        "counters",
        len(time),
        time_ns=np.array(time, np.int64),
        process=np.array(process, np.int32),
        name=Text.of(name),
        value=np.array(value, np.float64),
    )
