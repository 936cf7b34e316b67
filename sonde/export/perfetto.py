"""Perfetto's protobuf: calls, kernels and marks as track events, stack samples, counters, in one file.

Field numbers are those of perfetto's trace_packet.proto and what it includes.
Times are CLOCK_MONOTONIC nanoseconds written as the trace's own clock: the
trace has one clock only, so no clock snapshot is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from sonde.columns import Interner
from sonde.export import protobuf as pb
from sonde.export.profile import profile_of
from sonde.store.recording import Recording

SEQUENCE = 1
STATE_CLEARED, STATE_NEEDED = 1, 2
SLICE_BEGIN, SLICE_END, COUNTER = 1, 2, 4
# Track ids: threads, streams and counters must not collide.
STREAM_BASE, MARK_BASE, COUNTER_BASE, PROCESS_BASE = 1 << 32, 1 << 36, 1 << 40, 1 << 48


def write(recording: Recording, stream: BinaryIO) -> None:
    stream.write(_packet(pb.integer(13, STATE_CLEARED)))
    for packet in (*_tracks(recording), *_slices(recording), *_samples(recording), *_counters(recording)):
        stream.write(packet)


def _packet(payload: bytes) -> bytes:
    return pb.message(1, payload + pb.integer(10, SEQUENCE))


def _event(time_ns: int, payload: bytes) -> bytes:
    return _packet(pb.integer(8, time_ns) + pb.message(11, payload) + pb.integer(13, STATE_NEEDED))


def _tracks(recording: Recording) -> Iterator[bytes]:
    processes, threads = recording.table("processes"), recording.table("threads")
    pids = dict(zip(processes.array("process").tolist(), processes.array("pid").tolist(), strict=True))
    for row, process in enumerate(processes.array("process").tolist()):
        name = processes.text("command")[row] or "program"
        detail = pb.integer(1, pids[process]) + pb.text(6, name)
        yield _packet(pb.message(60, pb.integer(1, PROCESS_BASE + process) + pb.message(3, detail)))
    for row, thread in enumerate(threads.array("thread").tolist()):
        process = int(threads.array("process")[row])
        name = threads.text("name")[row] or threads.text("kind")[row] or "thread"
        detail = pb.integer(1, pids.get(process, 0)) + pb.integer(2, int(threads.array("tid")[row]))
        track = pb.integer(1, 1 + thread) + pb.integer(5, PROCESS_BASE + process)
        yield _packet(pb.message(60, track + pb.message(4, detail + pb.text(5, name))))
    kernels = recording.table("kernels")
    pairs = np.unique(np.stack([kernels.array("device"), kernels.array("stream")], axis=1), axis=0)
    for number, (device, queue) in enumerate(pairs.tolist()):
        track = pb.integer(1, STREAM_BASE + number) + pb.text(2, f"GPU {device} stream {queue}")
        yield _packet(pb.message(60, track))
    kinds, _ = _mark_tracks(recording)
    for number, (process, kind) in enumerate(kinds):
        track = pb.integer(1, MARK_BASE + number) + pb.text(2, f"{kind}s")
        yield _packet(pb.message(60, track + pb.integer(5, PROCESS_BASE + process)))


def _mark_tracks(recording: Recording) -> tuple[list[tuple[int, str]], list[int]]:
    """A track per process and kind of mark (steps, phases, windows, …), and the track of each mark."""
    marks = recording.table("marks")
    numbers: dict[tuple[int, str], int] = {}
    tracks = [
        MARK_BASE + numbers.setdefault((process, kind or "mark"), len(numbers))
        for process, kind in zip(marks.array("process").tolist(), marks.text("kind").tolist(), strict=True)
    ]
    return list(numbers), tracks


def _slices(recording: Recording) -> Iterator[bytes]:
    """Begin and end events in time order; at one instant inner slices end before outer ones begin."""
    ops, kernels = recording.table("ops"), recording.table("kernels")
    rows: list[tuple[int, int, int, int, str]] = []

    def add(starts: list[int], ends: list[int], tracks: list[int], names: list[str | None]) -> None:
        for start, end, track, name in zip(starts, ends, tracks, names, strict=True):
            rows.append((start, 1, -end, track, name or "?"))
            rows.append((end, 0, -start, track, ""))

    tracks = (ops.array("thread") + 1).tolist()
    add(ops.array("start_ns").tolist(), ops.array("end_ns").tolist(), tracks, ops.text("name").tolist())
    if len(kernels):
        pairs = np.stack([kernels.array("device"), kernels.array("stream")], axis=1)
        number = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        names = kernels.text("name").tolist()
        tracks = (number + STREAM_BASE).tolist()
        add(kernels.array("start_ns").tolist(), kernels.array("end_ns").tolist(), tracks, names)
    marks = recording.table("marks")
    titles = [
        f"{kind or 'mark'} {number}" if number >= 0 else name or kind
        for kind, name, number in zip(
            marks.text("kind").tolist(),
            marks.text("name").tolist(),
            marks.array("number").tolist(),
            strict=True,
        )
    ]
    starts, ends = marks.array("start_ns").tolist(), marks.array("end_ns").tolist()
    add(starts, ends, _mark_tracks(recording)[1], titles)
    rows.sort()
    for time, begins, _, track, name in rows:
        kind = pb.integer(9, SLICE_BEGIN if begins else SLICE_END) + pb.integer(11, track)
        yield _event(time, kind + (pb.text(23, name) if begins else b""))


def _samples(recording: Recording) -> Iterator[bytes]:
    """PerfSample packets whose stacks are interned once."""
    if len(recording.table("samples")) == 0:
        return
    profile = profile_of(recording)
    threads, processes = recording.table("threads"), recording.table("processes")
    pid_of = dict(zip(processes.array("process").tolist(), processes.array("pid").tolist(), strict=True))
    owner = {
        thread: (pid_of.get(process, 0), tid)
        for thread, process, tid in zip(
            threads.array("thread").tolist(),
            threads.array("process").tolist(),
            threads.array("tid").tolist(),
            strict=True,
        )
    }
    profile.refuse_endless()
    names = Interner()
    interned = []
    for row, label in enumerate(profile.labels):
        interned.append(pb.message(6, pb.integer(1, row + 1) + pb.integer(2, names(label) + 1)))
    strings = [pb.message(5, pb.integer(1, i + 1) + pb.text(2, name)) for i, name in enumerate(names.values)]
    stacks = []
    for node in np.unique(profile.stack).tolist():
        frames = b"".join(pb.integer(2, row + 1) for row in profile.path(node))
        stacks.append(pb.message(7, pb.integer(1, node + 1) + frames))
    table = b"".join(strings) + b"".join(interned) + b"".join(stacks)
    yield _packet(pb.message(12, table) + pb.integer(13, STATE_NEEDED))
    for i in np.argsort(profile.time_ns, kind="stable").tolist():
        pid, tid = owner.get(int(profile.thread[i]), (0, int(profile.thread[i])))
        sample = pb.integer(1, 0) + pb.integer(2, pid) + pb.integer(3, tid)
        sample += pb.integer(4, int(profile.stack[i]) + 1) + pb.integer(6, int(profile.weight_ns[i]))
        time = pb.integer(8, int(profile.time_ns[i]))
        yield _packet(time + pb.message(66, sample) + pb.integer(13, STATE_NEEDED))


def _counters(recording: Recording) -> Iterator[bytes]:
    counters = recording.table("counters")
    if len(counters) == 0:
        return
    names = counters.text("name")
    called = [*names.values, "?"]  # code -1 reads the last entry
    series = np.stack([counters.array("process"), names.codes], axis=1)
    distinct, number = np.unique(series, axis=0, return_inverse=True)
    for index, (process, code) in enumerate(distinct.tolist()):
        descriptor = pb.integer(1, COUNTER_BASE + index) + pb.text(2, called[code])
        descriptor += pb.integer(5, PROCESS_BASE + process) if process >= 0 else b""
        yield _packet(pb.message(60, descriptor + pb.message(8, b"")))
    tracks = (number.reshape(-1) + COUNTER_BASE).tolist()
    times, values = counters.array("time_ns").tolist(), counters.array("value").tolist()
    for time, track, value in sorted(zip(times, tracks, values, strict=True)):
        if not abs(value) < 2**63:  # NaN, or beyond what the format holds
            continue
        kind = pb.integer(9, COUNTER) + pb.integer(11, track) + pb.integer(30, round(value))
        yield _event(time, kind)
