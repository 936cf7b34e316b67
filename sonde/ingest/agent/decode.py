"""Read a raw log of the agent: `raw/PID.START.slog` -> `sonde.ingest.agent.log.RawLog`.

Enters: a log, whole, still growing, cut short or damaged. Leaves: columns by the
conventions of `sonde.ingest.agent.log`. What could not be read is added to `losses` and
never silently gone. native/tools/rawlog decodes the bytes (`native_log.py`); this file gives columns names and types.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.columns import Array, Text
from sonde.errors import InputError
from sonde.ingest.agent import log as raw
from sonde.ingest.agent.native_log import Decoded, library

HEADER, _BASE, _THREAD_START, _THREAD_END, _MAPPING, _UNMAPPING, _NODE, _PYTHON_NODE, _CODE = range(1, 10)
_SAMPLE, _WAIT, _JIT_CODE, _LOSS, _COUNTER, _BLOCK, _STATISTICS, _FOOTER, _MODULE = range(10, 19)
_READINGS, _GAP, _PART = 19, 20, 21
_READING_NAMES = (
    "rss_bytes",
    "cpu_user_ns",
    "cpu_system_ns",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
)
MOST_BYTES_AT_ONCE = 16 << 20
_VERSIONS = (1, 2)  # 2: a preamble that counts what could not be written, and gaps
_HANDLER_UNIT_NS, _LONGEST_HANDLER = 256, (1 << 31) // 256 - 1  # fits i32
_STOPS = (
    "end of file",
    "the last chunk is cut short",
    "a chunk does not start with its mark",
    "a chunk fails its checksum",
    "a chunk is out of order",
)


def read_raw_log(path: Path) -> raw.RawLog:
    """Decode a raw log; InputError when it is not one at all. Of a ring: all of its files that are kept."""
    found = library()
    files = rawfolder.parts(path)
    if len(files) > 1:
        return _read_ring(path, files)
    error = ctypes.c_int()
    handle = found.sonde_rawlog_read(os.fsencode(path), ctypes.byref(error))
    if not handle:
        raise InputError(f"{path} cannot be read: {os.strerror(error.value)}")
    try:
        return convert(path, Decoded(found, handle))
    finally:
        found.sonde_rawlog_free(handle)


def _read_ring(path: Path, files: list[Path]) -> raw.RawLog:
    found = library()
    handle = found.sonde_rawlog_follow()
    if not handle:
        raise MemoryError
    behind = 0
    try:
        for number, file in enumerate(files):
            if number:
                found.sonde_rawlog_next_file(handle)
            behind += _take_all(found, handle, file)
        decoded = Decoded(found, handle)
        decoded.behind = behind
        return convert(path, decoded)
    finally:
        found.sonde_rawlog_free(handle)


def _take_all(found: ctypes.CDLL, handle: int, file: Path) -> int:
    """All chunks of a file; the bytes behind the last whole one. One that was removed meanwhile has none."""
    taken = 0
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        while (got := found.sonde_rawlog_more(handle, fd, MOST_BYTES_AT_ONCE)) > 0:
            taken += got
        return max(os.fstat(fd).st_size - taken, 0)
    finally:
        os.close(fd)


def convert(path: Path, decoded: Decoded) -> raw.RawLog:
    total, lost, chunks, malformed, unknown, dangling, stop, *unwritten = decoded.summary()
    if decoded.behind and not lost:
        lost, stop = decoded.behind, 1
    header = _header(path, decoded, total, _STOPS[stop])
    problems = [
        ("truncated_log", "bytes", lost, f"{path.name}: {_STOPS[stop]} after {chunks} chunks"),
        ("malformed_record", "events", malformed, f"{path.name}: fields do not fit their record"),
        ("unknown_record", "events", unknown, f"{path.name}: written by a newer Sonde"),
        ("unknown_stack", "events", dangling, f"{path.name}: stack number that no record defines"),
        *_unwritten(path, unwritten),
    ]
    codes, code_ids = _codes(decoded)
    time, pointer, path_text = decoded.columns(_MODULE)
    start, end, sampling, cpu = decoded.columns(_BLOCK)
    names, values = decoded.columns(_STATISTICS)
    return raw.RawLog(
        header=header,
        threads=_threads(decoded),
        mappings=_mappings(decoded),
        nodes=_nodes(decoded),
        python_nodes=_python_nodes(decoded, code_ids),
        codes=codes,
        samples=_samples(decoded, _SAMPLE),
        waits=_samples(decoded, _WAIT),
        jit=_jit(decoded),
        losses=_losses(decoded, [p for p in problems if p[2]]),
        counters=_counters(decoded),
        blocks=raw.RawBlocks(start, end, sampling != 0, cpu),
        modules=raw.RawModules(time, pointer.astype(np.uint64), decoded.text(path_text)),
        footer=_footer(decoded),
        statistics={decoded.strings[n]: int(v) for n, v in zip(names, values, strict=True)},
        truncated_bytes=lost,
        size_bytes=total,
        cut=_cut(decoded),
    )


def _cut(decoded: Decoded) -> raw.Cut | None:
    number, from_ns, user_ns, system_ns = (column[:1].tolist() for column in decoded.columns(_PART))
    return raw.Cut(from_ns[0], user_ns[0], system_ns[0]) if number and number[0] > 0 else None


def _unwritten(path: Path, counts: list[int]) -> list[tuple[str, str, int, str]]:
    """What the agent collected and could not write, by the preamble of the log."""
    chunks, samples, cpu_ns, waits, others = counts
    why = f"{path.name} could not be written for a while (disk full?)"
    return [
        ("log_write_failed", "writes", chunks, why),
        ("log_write_failed", "samples", samples, f"{why}; they stood for {cpu_ns / 1e9:.3f} s of CPU time"),
        ("log_write_failed", "waits", waits, why),
        (
            "log_write_failed",
            "events",
            others,
            f"{why}: losses of other kinds, of which only the number is known",
        ),
    ]


def _header(path: Path, decoded: Decoded, total: int, stop: str) -> raw.Header:
    columns = decoded.columns(HEADER)
    if not len(columns[0]):
        raise InputError(
            f"{path} is not a raw log of Sonde: {total} bytes without a header ({stop})",
            "the process died within its first moments, or this is another file",
        )
    version, pid, parent, start, offset, rate, engine, python, command, origin = (
        int(column[-1]) for column in columns
    )
    if version not in _VERSIONS:
        raise InputError(
            f"{path} has log version {version}; this Sonde reads versions up to {_VERSIONS[-1]}",
            "use the Sonde version that recorded it",
        )
    return raw.Header(
        pid=pid,
        parent_pid=parent,
        start_ns=start,
        epoch_offset_ns=offset,
        rate_hz=float(rate),
        engine=decoded.strings[engine],
        python_version=decoded.strings[python],
        command=decoded.strings[command],
        followed_fork=origin == 1,
        executed=origin == 2,
    )


def _footer(decoded: Decoded) -> raw.Footer | None:
    columns = decoded.columns(_FOOTER)
    if not len(columns[0]):
        return None
    end, offset, user, system, rss, reason = (int(column[-1]) for column in columns)
    cut = _cut(decoded)
    if cut is not None:  # of the time that the ring is about
        user, system = max(user - cut.user_ns, 0), max(system - cut.system_ns, 0)
    return raw.Footer(end, offset, user, system, rss, replaced=reason == 1)


def _threads(decoded: Decoded) -> raw.RawThreads:
    # A thread is announced again after a gap: its first row stays.
    columns = decoded.columns(_THREAD_START)
    first = np.sort(np.unique(columns[0], return_index=True)[1])
    number, tid, start, name, kind, routine = (column[first] for column in columns)
    ended, end, cpu, last_name = decoded.columns(_THREAD_END)
    row_of = {int(n): i for i, n in enumerate(number)}
    end_ns = np.full(len(number), -1, np.int64)
    cpu_ns = np.full(len(number), -1, np.int64)
    names = name.copy()
    for i, thread in enumerate(ended):
        row = row_of.get(int(thread))
        if row is not None:
            end_ns[row], cpu_ns[row], names[row] = end[i], cpu[i], last_name[i]
    return raw.RawThreads(
        number=number.astype(np.int32),
        tid=tid,
        start_ns=start,
        end_ns=end_ns,
        cpu_ns=cpu_ns,
        name=decoded.text(names),
        kind=kind.astype(np.uint8),
        routine=routine.astype(np.uint64),
    )


def _mappings(decoded: Decoded) -> raw.RawMappings:
    time, start, end, offset, path, build_id = decoded.columns(_MAPPING)
    gone_ns, gone_start, gone_end = decoded.columns(_UNMAPPING)
    until = np.full(len(time), raw.FOREVER_NS, np.int64)
    open_rows: dict[tuple[int, int], list[int]] = {}
    for row, place in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        open_rows.setdefault(place, []).append(row)
    gone = zip(gone_ns.tolist(), gone_start.tolist(), gone_end.tolist(), strict=True)
    for when, first, last in gone:
        here = open_rows.get((first, last), [])
        closed = [row for row in here if time[row] <= when]
        until[closed] = when
        if closed:
            open_rows[first, last] = [row for row in here if time[row] > when]
    for gap_ns in decoded.columns(_GAP)[0]:
        until[(time < gap_ns) & (until > gap_ns)] = gap_ns
    kept = _join_over_gaps(decoded, until)
    if (cut := _cut(decoded)) is not None:  # samples of just before were written behind it
        time = np.where(time <= cut.from_ns, 0, time)
    time, start, end, offset, path, build_id, until = (
        column[kept] for column in (time, start, end, offset, path, build_id, until)
    )
    empty = [i for i, text in enumerate(decoded.strings) if not text]
    paths = decoded.text(path)  # a zero byte is damage, and no call of the system takes it
    paths = Text(paths.codes, [value.replace("\0", "\ufffd") for value in paths.values])
    ids = decoded.text(build_id)
    ids = Text(np.where(np.isin(build_id, empty), np.int32(-1), ids.codes).astype(np.int32), ids.values)
    return raw.RawMappings(
        start=start.astype(np.uint64),
        end=end.astype(np.uint64),
        offset=offset.astype(np.uint64),
        from_ns=time,
        until_ns=until,
        path=paths,
        build_id=ids,
    )


def _join_over_gaps(decoded: Decoded, until: raw.I64) -> Array:
    """Rows to keep: a mapping that is there before and after a gap is one, and ends where the later row does."""
    rows = np.stack(decoded.columns(_MAPPING), axis=1)
    gaps = {int(gap) for gap in decoded.columns(_GAP)[0]}
    kept = np.ones(len(rows), bool)
    row_of: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(rows if gaps else rows[:0]):
        key = tuple(int(value) for value in row[1:])
        before = row_of.get(key, i)
        if before != i and int(row[0]) in gaps and int(until[before]) in gaps:
            until[before], kept[i] = until[i], False
        else:
            row_of[key] = i
    return kept


def _reference(column: Array) -> raw.I32:
    """Row numbers of the decoder (-1 none, -2 unknown) to ids (row + 1, 0 none)."""
    ids: raw.I32 = np.maximum(column + 1, 0).astype(np.int32)
    return ids


def _nodes(decoded: Decoded) -> raw.RawNodes:
    _, parent, pc, flags = decoded.columns(_NODE)
    return raw.RawNodes(_reference(parent), pc.astype(np.uint64), flags.astype(np.uint8))


def _python_nodes(decoded: Decoded, code_ids: dict[int, int]) -> raw.RawPythonNodes:
    _, parent, code, instruction, entry, self_pointer = decoded.columns(_PYTHON_NODE)
    ids = np.fromiter((code_ids.get(int(c), 0) for c in code), np.int32, len(code))
    return raw.RawPythonNodes(
        parent=_reference(parent),
        code=ids,
        instruction=instruction.astype(np.int32),
        entry=entry != 0,
        self_pointer=self_pointer.astype(np.uint64),
    )


def _codes(decoded: Decoded) -> tuple[raw.RawCodes, dict[int, int]]:
    """The codes, and from the log's code number to the dense id."""
    code, name, file, first_line, line_table = decoded.columns(_CODE)
    codes = raw.RawCodes(
        name=decoded.text(name),
        file=decoded.text(file),
        first_line=first_line.astype(np.int32),
        line_table=[decoded.blobs[i] for i in line_table],
    )
    return codes, {int(c): i + 1 for i, c in enumerate(code)}


def _samples(decoded: Decoded, record: int) -> raw.RawSamples:
    columns = decoded.columns(record)
    thread, time, native, python, owner, owner_native, weight, state, reason, walk, anchor, handler = columns
    return raw.RawSamples(
        thread=thread.astype(np.int32),
        time_ns=time,
        native=_reference(native),
        python=_reference(python),
        owner=(owner - 1).astype(np.int32),
        owner_native=_reference(owner_native),
        weight_ns=weight,
        state=state.astype(np.uint8),
        reason=reason.astype(np.uint8),
        walk_end=(walk & 15).astype(np.uint8),
        owner_walk_end=(walk >> 4).astype(np.uint8),
        anchor=anchor.astype(np.uint8),
        handler_ns=np.minimum(handler, _LONGEST_HANDLER) * _HANDLER_UNIT_NS,
    )


def _jit(decoded: Decoded) -> raw.RawJit:
    time, start, size, name, source = decoded.columns(_JIT_CODE)
    return raw.RawJit(time, start.astype(np.uint64), size, decoded.text(name), decoded.text(source))


def _losses(decoded: Decoded, problems: list[tuple[str, str, int, str]]) -> raw.RawLosses:
    cause, unit, count, detail = decoded.columns(_LOSS)
    extra: list[list[Any]] = [list(column) for column in zip(*problems, strict=True)] or [[], [], [], []]
    return raw.RawLosses(
        cause=Text.concat([decoded.text(cause), Text.of(extra[0])]),
        unit=Text.concat([decoded.text(unit), Text.of(extra[1])]),
        count=np.concatenate([count, np.array(extra[2], np.int64)]),
        detail=Text.concat([decoded.text(detail), Text.of(extra[3])]),
    )


def _counters(decoded: Decoded) -> raw.RawCounters:
    time, name, value = decoded.columns(_COUNTER)
    read_ns, *readings = decoded.columns(_READINGS)
    each, count = len(_READING_NAMES), len(read_ns)
    codes = np.tile(np.arange(each, dtype=np.int32), count)
    return raw.RawCounters(
        np.concatenate([time, np.repeat(read_ns, each)]),
        Text.concat([decoded.text(name), Text(codes, list(_READING_NAMES))]),
        np.concatenate([value, np.stack(readings, axis=1).reshape(-1)]).astype(np.float64),
    )
