"""A window's Chrome trace → tables `ops`, `memory`, `threads`, by the standard library's JSON.

Times are the trace's own (nanoseconds of the wall clock); threads carry the operating system's id.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from sonde.analyze.nesting import parents
from sonde.columns import Table
from sonde.errors import InputError
from sonde.store import build


def read(path: Path) -> dict[str, Table]:
    """Read one trace."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as file:
            data = json.loads(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as a Kineto trace: {error}") from None
    base = data.get("baseTimeNanoseconds", 0)
    events = data.get("traceEvents", [])
    calls = [e for e in events if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    calls.sort(key=lambda e: (e["pid"], e["tid"], e["ts"], -e["dur"]))
    threads: dict[tuple[int, int], int] = {}
    for event in events:
        if event.get("ph") in ("X", "i") and isinstance(event.get("tid"), int) and event.get("cat"):
            threads.setdefault((event["pid"], event["tid"]), len(threads))
    start = np.array([base + round(e["ts"] * 1000) for e in calls], np.int64)
    end = start + np.array([round(e["dur"] * 1000) for e in calls], np.int64)
    thread = np.array([threads[e["pid"], e["tid"]] for e in calls], np.int32)
    args = [e.get("args", {}) for e in calls]
    ops = build.table(
        "ops",
        row_count=len(calls),
        op=np.arange(len(calls)),
        thread=thread,
        start_ns=start,
        end_ns=end,
        parent=parents(thread, start, end),
        name=[e["name"] for e in calls],
        kind=[_kind(e) for e in calls],
        shapes=[_json(a, "Input Dims") for a in args],
        dtypes=[_json(a, "Input type") for a in args],
        strides=[_json(a, "Input Strides") for a in args],
        inputs=[_json(a, "Concrete Inputs") for a in args],
        sequence=[a.get("Sequence number", -1) for a in args],
        forward_thread=[a.get("Fwd thread id", -1) for a in args],
        external_id=[a.get("External id", -1) for a in args],
        cpu_mem_bytes=np.zeros(len(calls), np.int64),
        device_mem_bytes=np.zeros(len(calls), np.int64),
    )
    blocks = [e for e in events if e.get("name") == "[memory]"]
    blocks.sort(key=lambda e: e["ts"])
    memory = build.table(
        "memory",
        row_count=len(blocks),
        time_ns=[base + round(e["ts"] * 1000) for e in blocks],
        thread=[threads[e["pid"], e["tid"]] for e in blocks],
        device=[_device(e["args"]) for e in blocks],
        address=[e["args"].get("Addr", -1) for e in blocks],
        bytes=[e["args"]["Bytes"] for e in blocks],
        allocated_bytes=[e["args"].get("Total Allocated", -1) for e in blocks],
        reserved_bytes=[e["args"].get("Total Reserved", -1) for e in blocks],
    )
    roster = build.table(
        "threads",
        row_count=len(threads),
        thread=list(threads.values()),
        process=np.zeros(len(threads), np.int32),
        tid=[tid for _, tid in threads],
    )
    return {"ops": ops, "memory": memory, "threads": roster}


def _kind(event: dict[str, Any]) -> str:
    if event["cat"] == "user_annotation":
        return "annotation"
    if event["name"].startswith("## Call CompiledFxGraph") or event["name"].startswith(
        "Torch-Compiled Region"
    ):
        return "compiled"
    return "backward" if event.get("args", {}).get("Fwd thread id", 0) > 0 else "op"


def _json(args: dict[str, Any], name: str) -> str | None:
    return json.dumps(args[name], separators=(",", ":")) if name in args else None


def _device(args: dict[str, Any]) -> str:
    return "cpu" if args.get("Device Type", 0) == 0 else f"cuda:{args.get('Device Id', 0)}"
