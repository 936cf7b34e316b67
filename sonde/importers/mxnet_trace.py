"""MXNet's profiler: its Chrome trace (`profile.json[.gz]`) → a Recording.

Operators are B/E pairs of category "operator", one track per device and engine thread. MXNet writes each of
them a second time as an asynchronous b/e pair under another process: those are not read, or
everything would count twice. Calls of MXNet's API (MXImperativeInvokeEx, MXExecutorForward, …) are
b/e pairs of category "MXNET_C_API" and become rows of kind "annotation" on tracks of their own.
Thread ids are 64-bit hashes beyond what a float or an int64 holds, so threads are numbered in the
order of their appearance. Times are microseconds of the epoch.
There are no shapes, no stacks and no link from API call to operator.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import sonde
from sonde.analyze.nesting import parents
from sonde.columns import Table
from sonde.errors import InputError
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

MEMORY_PREFIX = "Memory: "
API = "MXNET_C_API"
PHASES: dict[Any, tuple[str, str]] = {"operator": ("B", "E"), API: ("b", "e")}
SIGNS = (b'"cpu pinned/"', b"MXNET_C_API")


def sniff(head: bytes) -> bool:
    """MXNet names its devices first: cpu/0, cpu pinned/, …"""
    return b'"traceEvents"' in head[:200] and any(sign in head for sign in SIGNS)


def read(path: Path) -> Recording:
    """The trace in `path`; InputError when it is not MXNet's."""
    events = _events(path)
    devices = {e["pid"]: e["args"]["name"] for e in events if e.get("ph") == "M" and "args" in e}
    calls, unpaired = _pairs(events)
    tracks: dict[tuple[Any, Any], int] = {}
    for call in calls:
        tracks.setdefault(call[:2], len(tracks))
    thread = np.array([tracks[call[:2]] for call in calls], np.int32)
    start = np.array([call[3] * 1000 for call in calls], np.int64)
    end = np.array([call[4] * 1000 for call in calls], np.int64)
    ops = build.table(
        "ops",
        row_count=len(calls),
        op=np.arange(len(calls)),
        thread=thread,
        start_ns=start,
        end_ns=end,
        parent=parents(thread, start, end),
        name=[call[2] for call in calls],
        kind=["annotation" if call[5] else "op" for call in calls],
        cpu_mem_bytes=np.zeros(len(calls), np.int64),
        device_mem_bytes=np.zeros(len(calls), np.int64),
    )
    first, last = (int(start.min()), int(end.max())) if len(calls) else (0, 0)
    threads = build.table(
        "threads",
        row_count=len(tracks),
        thread=list(tracks.values()),
        process=np.zeros(len(tracks), np.int32),
        tid=list(tracks.values()),
        kind=["native"] * len(tracks),
        name=[f"engine {n} ({devices.get(pid, pid)})" for (pid, _), n in tracks.items()],
        start_ns=np.full(len(tracks), first),
        end_ns=np.full(len(tracks), last),
    )
    processes = build.table(
        "processes",
        process=[0],
        pid=[-1],
        role=["imported"],
        command=[path.name],
        start_ns=[first],
        end_ns=[last],
        exit_code=[-1000],
    )
    tables = {
        "processes": processes,
        "threads": threads,
        "ops": ops,
        "counters": _counters(events),
        "losses": _losses(unpaired),
    }
    meta = Meta(
        sonde_version=sonde.__version__,
        source="mxnet",
        program=path.name,
        duration_s=(last - first) / 1e9,
        details={"devices": sorted({d for d in devices.values() if isinstance(d, str) and "/" in d})},
    )
    return Recording(meta, tables, path)


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}", "is the file complete?") from None
    try:
        loaded = json.loads(data)
        events = loaded["traceEvents"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a whole MXNet trace: {error}",
            "let the program end by itself, or call mx.profiler.dump() before",
        ) from None
    return [e for e in events if isinstance(e, dict)]


def _pairs(events: list[dict[str, Any]]) -> tuple[list[tuple[Any, Any, str, int, int, bool]], int]:
    """(pid, tid, name, start µs, end µs, is API) of each call, and the number of events without a partner."""
    open_calls: dict[tuple[Any, Any], list[tuple[str, int]]] = {}
    calls = []
    unpaired = 0
    for event in events:
        category, phase = event.get("cat"), event.get("ph")
        if phase not in PHASES.get(category, ()):
            continue
        stack = open_calls.setdefault((event["pid"], event["tid"]), [])
        if phase in ("B", "b"):
            stack.append((event["name"], event["ts"]))
        elif stack and stack[-1][0] == event["name"]:
            name, start = stack.pop()
            calls.append((event["pid"], event["tid"], name, start, event["ts"], category == API))
        else:
            unpaired += 1
    unpaired += sum(len(stack) for stack in open_calls.values())
    return calls, unpaired


def _counters(events: list[dict[str, Any]]) -> Table:
    rows = [
        (e["ts"] * 1000, f"mxnet_{e['name'][len(MEMORY_PREFIX) :]}_bytes", float(value))
        for e in events
        if e.get("ph") == "C" and str(e.get("name", "")).startswith(MEMORY_PREFIX)
        for value in list(e.get("args", {}).values())[:1]
    ]
    return build.table(
        "counters",
        row_count=len(rows),
        time_ns=[row[0] for row in rows],
        process=np.zeros(len(rows), np.int32),
        name=[row[1] for row in rows],
        value=[row[2] for row in rows],
    )


def _losses(unpaired: int) -> Table:
    if not unpaired:
        return build.empty("losses")
    return build.table(
        "losses",
        process=[0],
        cause=["unpaired_event"],
        count=[unpaired],
        unit=["events"],
        detail=["operators whose begin or end is not in the trace"],
    )
