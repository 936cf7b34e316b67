"""A slow, plain reader of Kineto traces: the independent oracle of the native one.

Enters: a well-formed trace.json[.gz]. Leaves: the tables of `sonde.store.schema`.
It shares no code with the native reader: `json`, `decimal` and loops only. Where both
give the same totals, neither the parser, nor the links, nor the clock is off.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from sonde.analyze.device.kernel_names import class_of
from sonde.columns import Table
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

OPS = {"cpu_op": "op", "operator": "op", "user_annotation": "annotation", "python_function": "python"}
DEVICE = {
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "cuda_sync": "sync",
    "gpu_user_annotation": "annotation",
    "mtia_ccp_events": "kernel",
}
HOST = {
    "cuda_runtime": "runtime",
    "runtime": "runtime",
    "cuda_driver": "driver",
    "mtia_runtime": "runtime",
}
STEP = re.compile(r"ProfilerStep#(\d+)")


def load(path: Path) -> dict[str, Any]:
    """The JSON of a trace with every number exact."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data.decode("utf-8", "replace"), parse_float=Decimal)
    return document if isinstance(document, dict) else {"traceEvents": document}


def ns(microseconds: Any) -> int:
    """Microseconds as written → whole nanoseconds."""
    return int((Decimal(str(microseconds)) * 1000).to_integral_value())


def number(value: Any, otherwise: int = -1) -> int:
    match = re.search(r"-?\d+", str(value)) if value is not None else None
    return int(match.group()) if match else otherwise


def external(args: dict[str, Any]) -> int:
    return number(args.get("External id", args.get("external id")))


def call_kind(name: str) -> str:
    low = name.lower()
    if "graphlaunch" in low:
        return "graph"
    if "launch" in low:
        return "launch"
    if "memcpy" in low:
        return "copy"
    if "memset" in low:
        return "set"
    if "synchronize" in low or "waitevent" in low:
        return "sync"
    if "malloc" in low or "free" in low:
        return "allocate"
    return "event" if "event" in low else "other"


def read(path: Path) -> Recording:
    """The recording in a trace file."""
    document = load(path)
    base = int(document.get("baseTimeNanoseconds", 0))
    events = [e for e in document["traceEvents"] if isinstance(e, dict)]
    threads: dict[tuple[str, str], int] = {}

    def thread(event: dict[str, Any]) -> int:
        return threads.setdefault((str(event.get("pid")), str(event.get("tid"))), len(threads))

    ops, kernels, launches, memory, marks = [], [], [], [], []
    for event in events:
        category = str(event.get("cat", "")).lower()
        args = event.get("args") or {}
        if event.get("name") == "[memory]":
            memory.append(memory_row(event, args, base, thread(event)))
        if event.get("ph") != "X" or "dur" not in event:
            continue
        start = base + ns(event["ts"])
        row = {
            "name": str(event["name"]),
            "start_ns": start,
            "end_ns": start + ns(event["dur"]),
            "args": args,
        }
        if category in OPS:
            row |= {"thread": thread(event), "kind": OPS[category]}
            ops.append(row)
            step = STEP.fullmatch(row["name"])
            if step:
                marks.append(row | {"kind": "step", "number": int(step.group(1))})
        elif category in HOST:
            launches.append(row | {"thread": thread(event), "api": HOST[category]})
        elif category in DEVICE:
            row["kind"] = "memcpy" if row["name"].startswith("dma") else DEVICE[category]
            row["device"] = number(args.get("device", event.get("pid")))
            row["stream"] = number(args.get("stream", event.get("tid")))
            kernels.append(row)
    ops.sort(key=lambda r: (r["thread"], r["start_ns"], -r["end_ns"]))
    tables = link(ops, kernels, launches)
    tables["memory"] = build.table("memory", **columns(memory)) if memory else build.empty("memory")
    tables["marks"] = marks_table(marks)
    info = document.get("distributedInfo") or {}
    tables["processes"] = build.table(
        "processes",
        process=[0],
        rank=[number(info.get("rank"))],
        world_size=[number(info.get("world_size"))],
        role=["imported"],
        command=[path.name],
    )
    tables["threads"] = build.table(
        "threads",
        len(threads),
        thread=list(threads.values()),
        process=[0] * len(threads),
        tid=[number(t) for _, t in threads],
    )
    details = {k: v for k, v in document.items() if k != "traceEvents"}
    return Recording(Meta(source="kineto", program=path.name, details=details), tables, path)


def memory_row(event: dict[str, Any], args: dict[str, Any], base: int, thread: int) -> dict[str, Any]:
    kind = number(args.get("Device Type"), 0)
    device = "cpu" if kind == 0 else f"cuda:{max(number(args.get('Device Id')), 0)}"
    return {
        "time_ns": base + ns(event["ts"]),
        "thread": thread,
        "device": device,
        "address": number(args.get("Addr")),
        "bytes": number(args.get("Bytes"), 0),
        "allocated_bytes": number(args.get("Total Allocated")),
        "reserved_bytes": number(args.get("Total Reserved")),
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {key: [row[key] for row in rows] for key in rows[0]}


def marks_table(marks: list[dict[str, Any]]) -> Table:
    keep = ("thread", "kind", "name", "number", "start_ns", "end_ns")
    given = {k: [m[k] for m in marks] for k in keep}
    return build.table("marks", len(marks), mark=range(len(marks)), process=[0] * len(marks), **given)


def link(
    ops: list[dict[str, Any]], kernels: list[dict[str, Any]], launches: list[dict[str, Any]]
) -> dict[str, Table]:
    """Parents by nesting; launch → op by id where it holds the launch, else by nesting; kernel → launch."""
    by_thread: dict[int, list[int]] = defaultdict(list)
    by_external: dict[int, list[int]] = defaultdict(list)
    open_ops: dict[int, list[int]] = defaultdict(list)
    for index, op in enumerate(ops):
        stack = open_ops[op["thread"]]
        while stack and not (
            op["start_ns"] < ops[stack[-1]]["end_ns"] or op["end_ns"] <= ops[stack[-1]]["end_ns"]
        ):
            stack.pop()
        holders = [i for i in stack if ops[i]["end_ns"] >= op["end_ns"]]
        op["parent"] = holders[-1] if holders else -1
        stack.append(index)
        by_thread[op["thread"]].append(index)
        if external(op["args"]) >= 0 and op["kind"] != "python":
            by_external[external(op["args"])].append(index)
    starts = {t: [ops[i]["start_ns"] for i in rows] for t, rows in by_thread.items()}
    by_correlation: dict[int, int] = {}
    for index, call in enumerate(launches):
        call["op"] = around(call, ops, by_thread, starts, by_external)
        call["correlation"] = number(call["args"].get("correlation"))
        if call["correlation"] >= 0:
            by_correlation.setdefault(call["correlation"], index)
    for kernel in kernels:
        correlation = number(kernel["args"].get("correlation"))
        kernel["launch"] = by_correlation.get(correlation, -1) if kernel["kind"] != "annotation" else -1
        kernel["correlation"] = correlation
        kernel["op"] = launches[kernel["launch"]]["op"] if kernel["launch"] >= 0 else -1
    return {"ops": op_table(ops), "kernels": kernel_table(kernels), "launches": launch_table(launches)}


def around(
    call: dict[str, Any],
    ops: list[dict[str, Any]],
    by_thread: dict[int, list[int]],
    starts: dict[int, list[int]],
    by_external: dict[int, list[int]],
) -> int:
    for index in reversed(by_external.get(external(call["args"]), [])):
        if ops[index]["start_ns"] <= call["start_ns"] and call["end_ns"] <= ops[index]["end_ns"]:
            return index
    rows = by_thread.get(call["thread"], [])
    at = bisect.bisect_right(starts.get(call["thread"], []), call["start_ns"]) - 1
    index = rows[at] if at >= 0 else -1
    while index >= 0:
        if ops[index]["kind"] != "python" and ops[index]["end_ns"] >= call["end_ns"]:
            return index
        index = ops[index]["parent"]
    return -1


def text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, default=float)


def op_table(ops: list[dict[str, Any]]) -> Table:
    args = [op["args"] for op in ops]
    return build.table(
        "ops",
        len(ops),
        op=range(len(ops)),
        **{k: [op[k] for op in ops] for k in ("thread", "start_ns", "end_ns", "parent", "name", "kind")},
        shapes=[text(a.get("Input Dims", a.get("Input dims"))) for a in args],
        dtypes=[text(a.get("Input type")) for a in args],
        strides=[text(a.get("Input Strides")) for a in args],
        inputs=[text(a.get("Concrete Inputs")) for a in args],
        stack=[a.get("Call stack") for a in args],
        sequence=[number(a.get("Sequence number")) for a in args],
        forward_thread=[number(a.get("Fwd thread id")) for a in args],
        external_id=[external(a) for a in args],
        extra=[text(a) for a in args],
    )


def kernel_table(kernels: list[dict[str, Any]]) -> Table:
    args = [k["args"] for k in kernels]
    plain = ("device", "stream", "start_ns", "end_ns", "name", "kind", "correlation", "launch", "op")

    def real(key: str) -> list[float]:
        return [float(a[key]) if a.get(key) is not None else float("nan") for a in args]

    return build.table(
        "kernels",
        len(kernels),
        kernel=range(len(kernels)),
        process=[0] * len(kernels),
        **{p: [k[p] for k in kernels] for p in plain},
        **{"class": [class_of(k["name"], k["kind"]) for k in kernels]},
        graph=[number(a.get("graph id")) for a in args],
        graph_node=[number(a.get("graph node id")) for a in args],
        bytes=[number(a.get("bytes", a.get("size"))) for a in args],
        bandwidth_gbs=real("memory bandwidth (GB/s)"),
        grid=[text(a.get("grid")) for a in args],
        block=[text(a.get("block")) for a in args],
        occupancy=real("est. achieved occupancy %"),
        blocks_per_sm=real("blocks per SM"),
        warps_per_sm=real("warps per SM"),
        collective=[text(a) if "Collective name" in a else None for a in args],
        extra=[text(a) for a in args],
    )


def launch_table(launches: list[dict[str, Any]]) -> Table:
    plain = ("thread", "start_ns", "end_ns", "name", "api", "correlation", "op")
    return build.table(
        "launches",
        len(launches),
        launch=range(len(launches)),
        **{p: [c[p] for c in launches] for p in plain},
        kind=[call_kind(c["name"]) for c in launches],
        external_id=[external(c["args"]) for c in launches],
        extra=[text(c["args"]) for c in launches],
    )
