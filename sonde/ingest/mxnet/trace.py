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

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from sonde.analyze.base.nesting import parents
from sonde.columns import Table
from sonde.errors import InputError
from sonde.ingest.plain_bytes import read_whole
from sonde.link import link
from sonde.store import build
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.version import __version__

MEMORY_PREFIX = "Memory: "
API = "MXNET_C_API"
PHASES: dict[str, tuple[str, str]] = {"operator": ("B", "E"), API: ("b", "e")}
SIGNS = (b'"cpu pinned/"', b"MXNET_C_API")
_LARGEST_US, _LARGEST_VALUE = 1 << 52, 1e300
_LOST = {
    "unpaired_event": "operators whose begin or end is not in the trace",
    "bad_event": "events without a name, a time or a number where one belongs",
    "negative_duration": "operators that end before they begin; left out",
}


def sniff(head: bytes) -> bool:
    """MXNet names its devices first: cpu/0, cpu pinned/, …"""
    return b'"traceEvents"' in head[:200] and any(sign in head for sign in SIGNS)


def read(path: Path) -> Recording:
    """The trace in `path` as a recording; InputError when it is not MXNet's."""
    meta, tables = decode(path)
    return Recording(meta, link(tables), path)


def decode(path: Path) -> tuple[Meta, dict[str, Table]]:
    """The tables of a trace before they are linked, for one that is part of a recording."""
    events = _events(path)
    devices = _devices(events)
    calls, lost = _pairs(events)
    counters = _counters(events, lost)
    tracks: dict[tuple[str, str], int] = {}
    for call in calls:
        tracks.setdefault(call[:2], len(tracks))
    thread = np.array([tracks[call[:2]] for call in calls], np.int32)
    start = np.array([call[3] for call in calls], np.int64)
    end = np.array([call[4] for call in calls], np.int64)
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
        "counters": counters,
        "losses": _losses(lost),
    }
    meta = Meta(
        sonde_version=__version__,
        source="mxnet",
        program=path.name,
        duration_s=(last - first) / 1e9,
        details={"devices": sorted({d for d in devices.values() if "/" in d})},
    )
    return meta, tables


def _events(path: Path) -> list[dict[str, Any]]:
    data = read_whole(path)
    try:
        loaded = json.loads(data)
        events = list(loaded["traceEvents"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a complete MXNet trace: {error}",
            "let the program end by itself, or call mx.profiler.dump() before",
        ) from None
    return [e for e in events if isinstance(e, dict)]


def _devices(events: list[dict[str, Any]]) -> dict[str, str]:
    named = ((e.get("pid"), e["args"].get("name")) for e in events if isinstance(e.get("args"), dict))
    return {str(pid): name for pid, name in named if isinstance(name, str)}


def _nanoseconds(event: dict[str, Any]) -> int | None:
    """When an event happened; None where that is no time. Microseconds of the epoch need 51 bits."""
    time = event.get("ts")
    if not isinstance(time, (int, float)) or not abs(time) < _LARGEST_US:  # NaN is not less either
        return None
    return round(time * 1000)


def _pairs(events: list[dict[str, Any]]) -> tuple[list[tuple[str, str, str, int, int, bool]], Counter[str]]:
    """(pid, tid, name, start, end, is API) of each call, and the number of events lost by cause."""
    open_calls: dict[tuple[str, str], list[tuple[str, int]]] = {}
    calls = []
    lost: Counter[str] = Counter()
    for event in events:
        category, phase = event.get("cat"), event.get("ph")
        if not isinstance(category, str) or phase not in PHASES.get(category, ()):
            continue
        now, called = _nanoseconds(event), event.get("name")
        if now is None or not isinstance(called, str):
            lost["bad_event"] += 1
            continue
        track = (str(event.get("pid")), str(event.get("tid")))
        stack = open_calls.setdefault(track, [])
        if phase in ("B", "b"):
            stack.append((called, now))
        elif stack and stack[-1][0] == called:
            name, start = stack.pop()
            if now < start:
                lost["negative_duration"] += 1
            else:
                calls.append((*track, name, start, now, category == API))
        else:
            lost["unpaired_event"] += 1
    lost["unpaired_event"] += sum(len(stack) for stack in open_calls.values())
    return calls, lost


def _counters(events: list[dict[str, Any]], lost: Counter[str]) -> Table:
    rows = []
    for event in events:
        name, args = event.get("name"), event.get("args")
        if event.get("ph") != "C" or not isinstance(name, str) or not name.startswith(MEMORY_PREFIX):
            continue
        now = _nanoseconds(event)
        value = next(iter(args.values()), None) if isinstance(args, dict) else None
        if now is None or not isinstance(value, (int, float)) or not abs(value) < _LARGEST_VALUE:
            lost["bad_event"] += 1
            continue
        rows.append((now, f"mxnet_{name[len(MEMORY_PREFIX) :]}_bytes", float(value)))
    return build.table(
        "counters",
        row_count=len(rows),
        time_ns=[row[0] for row in rows],
        process=np.zeros(len(rows), np.int32),
        name=[row[1] for row in rows],
        value=[row[2] for row in rows],
    )


def _losses(lost: Counter[str]) -> Table:
    return loss_table(Loss(0, cause, n, "events", _LOST[cause]) for cause, n in lost.items() if n)
