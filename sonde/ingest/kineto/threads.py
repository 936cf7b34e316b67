"""Processes and threads of a trace, from the tracks that CPU events run on.

Kineto calls a GPU a process and a stream a thread; those are not here but in
the `device` and `stream` of kernels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.columns import Array, Table, Text, distinct
from sonde.ingest.kineto.events import Events
from sonde.ingest.kineto.trace_library import NativeTrace
from sonde.store import build

_WHOLE = re.compile(r"-?\d{1,10}")


@dataclass(frozen=True)
class Threads:
    """The two tables, and the way from a track to their rows (-1 for tracks of a device)."""

    processes: Table
    threads: Table
    thread_of_track: Array
    process_of_track: Array
    process_of_document: dict[int, int]


def threads_of(
    trace: NativeTrace,
    cpu_events: Sequence[Events],
    info_by_document: dict[int, dict[str, Any]],
    name: str,
    window_ns: tuple[int, int],
) -> Threads:
    """Tables of the processes and threads that `cpu_events` ran on; process 0 has most events."""
    pid, tid = trace.tracks("pid").copy(), trace.tracks("tid").copy()
    document = trace.tracks("document")
    count = len(pid)
    uses = np.zeros(count, np.int64)
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    for events in cpu_events:
        uses += np.bincount(events.track, minlength=count)
        np.minimum.at(first, events.track, events.start_ns)
        np.maximum.at(last, events.track, events.end_ns)
    used = np.flatnonzero(uses)
    # Frames of Python threads that the profiler could not name come as process 0, thread 0.
    for track in used[(pid[used] == 0) & (tid[used] == 0)].tolist():
        peers = used[(pid[used] != 0) & (document[used] == document[track])]
        if len(peers):
            pid[track] = pid[peers[np.argmax(uses[peers])]]
    by_process: dict[tuple[int, int], list[int]] = {}
    for track in used.tolist():
        by_process.setdefault((int(document[track]), int(pid[track])), []).append(track)
    order = sorted(by_process, key=lambda key: (key[0], -int(uses[by_process[key]].sum())))
    thread_of_track = np.full(count, -1, np.int32)
    process_of_track = np.full(count, -1, np.int32)
    tracks: list[int] = []
    for process, key in enumerate(order):
        members = sorted(by_process[key], key=lambda t: (tid[t] != pid[t], -int(uses[t])))
        for track in members:
            thread_of_track[track] = len(tracks)
            process_of_track[track] = process
            tracks.append(track)
    keys = order or [(0, -1)]
    chosen = np.array(tracks, np.int64)
    infos = [info_by_document.get(d, {}) for d, _ in keys]
    members_of = [by_process.get(key, []) for key in keys]
    processes = build.table(
        "processes",
        process=np.arange(len(keys)),
        pid=[p if -(2**31) <= p < 2**31 else -1 for _, p in keys],
        rank=[_whole(i.get("rank")) for i in infos],
        world_size=[_whole(i.get("world_size")) for i in infos],
        role=["imported"] * len(keys),
        command=[name] * len(keys),
        start_ns=[int(first[m].min()) if m else window_ns[0] for m in members_of],
        end_ns=[int(last[m].max()) if m else window_ns[1] for m in members_of],
        exit_code=[-1000] * len(keys),
    )
    threads = build.table(
        "threads",
        thread=np.arange(len(tracks)),
        process=process_of_track[chosen],
        tid=np.where(tid[chosen] < -(2**62), -1, tid[chosen]),
        kind=["main" if tid[t] == pid[t] else "native" for t in tracks],  # refined by with_kinds
        name=trace.text(trace.tracks("thread_name")[chosen]),
        start_ns=first[chosen],
        end_ns=last[chosen],
    )
    of_document: dict[int, int] = {}
    for process, (d, _) in enumerate(keys):
        of_document.setdefault(d, process)
    return Threads(processes, threads, thread_of_track, process_of_track, of_document)


def with_kinds(threads: Threads, ops: Table) -> Table:
    """The `threads` table with kinds that the calls on each thread tell: autograd, python, main."""
    table = threads.threads
    count = len(table)
    thread, kind = ops.array("thread"), ops.text("kind")

    def has(*kinds: str) -> Array:
        return np.bincount(thread[kind.matches(kinds)], minlength=count) > 0

    name = table.text("name")
    named = np.array(["autograd" in v for v in name.values] + [False])[name.codes]
    backward, python, annotated = has("backward"), has("python", "module"), has("annotation")
    is_main = table.text("kind").equals("main")
    process = table.array("process")
    for number in distinct(process).tolist():
        members = np.flatnonzero(process == number)
        if not is_main[members].any():  # old traces: thread ids are not those of the system
            likely = members[annotated[members] & ~named[members]]
            is_main[likely[:1]] = True  # threads are ordered by the number of their events
    kinds = np.select([is_main, named | backward, python], ["main", "autograd", "python"], "native")
    return table.with_columns(kind=Text.of(kinds.tolist()))


def _whole(value: object) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and -1 <= value < 2**31 else -1
