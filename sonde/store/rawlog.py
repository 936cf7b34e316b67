"""The raw log that the agent wrote, as columns.

Enters: a `raw/PID.START.slog` file, whole, still growing, cut short or damaged.
Leaves: a `RawLog`: one frozen record of numpy columns per record type, text as
codes, stack references as row numbers (-1 none). What could not be read is in
`RawLog.problems`, never silently gone. Meaning of the fields: native/agent/log/format.h.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sonde.columns import Array, Text
from sonde.errors import InputError
from sonde.native import tools

Ints = npt.NDArray[np.int64]

PROCESS_ORIGINS = ("started", "forked", "executed")
THREAD_KINDS = ("ordinary", "main", "agent", "unknown")
STATES = ("running", "spinning", "imbalance", "waiting")
REASONS = ("none", "lock", "gil", "io", "sleep", "fault", "preempted", "idle", "other")
WALK_ENDS = (
    "root",
    "truncated",
    "no_cfi",
    "no_caller",
    "bad_cfa",
    "bad_rule",
    "bad_pc",
    "off_stack",
    "unreadable",
)
WALK_RESIDUAL = 15  # no stack: CPU time after the thread's last tick, or of a thread too short for one
ANCHORS = ("none", "missed", "hit")
FRAME_JIT, FRAME_DECODED, FRAME_SCANNED, FRAME_EVAL, FRAME_SIGNAL = 1, 2, 4, 8, 16
_STOPS = (
    "end of file",
    "the last chunk is cut short",
    "a chunk does not start with its mark",
    "a chunk fails its checksum",
    "a chunk is out of order",
)


@dataclass(frozen=True)
class Header:
    """The process: what it is and how it was sampled."""

    version: int
    pid: int
    parent_pid: int
    start_ns: int
    epoch_offset_ns: int
    rate_hz: int
    engine: str
    python: str
    command: str  # arguments separated by NUL
    origin: str


@dataclass(frozen=True)
class Footer:
    """Written only when the process ended in an orderly way."""

    end_ns: int
    epoch_offset_ns: int
    user_ns: int
    system_ns: int
    max_rss_bytes: int
    reason: str  # exit or exec


@dataclass(frozen=True)
class ThreadStarts:
    thread: Ints
    tid: Ints
    time_ns: Ints
    name: Text
    kind: Ints  # index into THREAD_KINDS
    routine: Ints  # address of the start routine, 0 unknown


@dataclass(frozen=True)
class ThreadEnds:
    thread: Ints
    time_ns: Ints
    cpu_ns: Ints
    name: Text


@dataclass(frozen=True)
class Mappings:
    time_ns: Ints
    start: Ints
    end: Ints
    offset: Ints
    path: Text
    build_id: Text


@dataclass(frozen=True)
class Unmappings:
    time_ns: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True)
class Nodes:
    """Native stack nodes; row number is the node's identity."""

    node: Ints
    parent: Ints  # row of the caller, -1 above the root
    pc: Ints
    flags: Ints  # FRAME_*


@dataclass(frozen=True)
class PythonNodes:
    node: Ints
    parent: Ints
    code: Ints  # code number, 0 when it could not be read
    instruction: Ints  # byte offset, -1 unknown
    entry: Ints
    self_pointer: Ints


@dataclass(frozen=True)
class Codes:
    code: Ints
    name: Text
    file: Text
    first_line: Ints
    line_table: Ints  # index into RawLog.blobs


@dataclass(frozen=True)
class Samples:
    """On-CPU samples (`RawLog.samples`) or off-CPU ones (`RawLog.waits`)."""

    thread: Ints
    time_ns: Ints
    stack: Ints  # row in nodes
    python_stack: Ints  # row in python_nodes
    owner: Ints  # owner's thread number + 1, 0 none
    owner_stack: Ints  # row in nodes
    weight_ns: Ints
    state: Ints  # index into STATES
    reason: Ints  # index into REASONS
    walk: Ints  # WALK_ENDS or WALK_RESIDUAL, owner's << 4
    anchor: Ints  # index into ANCHORS


@dataclass(frozen=True)
class JitCodes:
    time_ns: Ints
    start: Ints
    size: Ints
    name: Text
    source: Text


@dataclass(frozen=True)
class Losses:
    cause: Text
    unit: Text
    count: Ints
    detail: Text


@dataclass(frozen=True)
class Counters:
    time_ns: Ints
    name: Text
    value: Ints


@dataclass(frozen=True)
class Blocks:
    start_ns: Ints
    end_ns: Ints
    sampling: Ints  # 1 on, 0 off
    cpu_ns: Ints


@dataclass(frozen=True)
class Statistics:
    name: Text
    value: Ints


@dataclass(frozen=True)
class Modules:
    time_ns: Ints
    pointer: Ints
    path: Text


@dataclass(frozen=True)
class Problem:
    """Something of the file that is not in the columns; becomes a row of `losses`."""

    cause: str
    unit: str
    count: int
    detail: str


@dataclass(frozen=True)
class RawLog:
    """One process's log."""

    path: Path
    header: Header
    footer: Footer | None
    thread_starts: ThreadStarts
    thread_ends: ThreadEnds
    mappings: Mappings
    unmappings: Unmappings
    nodes: Nodes
    python_nodes: PythonNodes
    codes: Codes
    samples: Samples
    waits: Samples
    jit_codes: JitCodes
    losses: Losses
    counters: Counters
    blocks: Blocks
    statistics: Statistics
    modules: Modules
    blobs: list[bytes]  # line tables, as raw bytes
    size_bytes: int
    problems: tuple[Problem, ...]


def read_raw_log(path: Path) -> RawLog:
    """Decode a raw log; InputError when it is not one at all."""
    library = _library()
    error = ctypes.c_int()
    handle = library.sonde_rawlog_read(os.fsencode(path), ctypes.byref(error))
    if not handle:
        raise InputError(f"{path} cannot be read: {os.strerror(error.value)}")
    try:
        return _convert(path, _Decoded(library, handle))
    finally:
        library.sonde_rawlog_free(handle)


class _Decoded:
    """A handle of the C side with its columns copied out on demand."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self._handle = handle
        size = ctypes.c_int64()
        self.blobs: list[bytes] = []
        for number in range(library.sonde_rawlog_strings(handle)):
            start = library.sonde_rawlog_string(handle, number, ctypes.byref(size))
            self.blobs.append(ctypes.string_at(start, size.value))
        self.texts = [blob.decode("utf-8", "replace") for blob in self.blobs]

    def columns(self, record: int) -> list[Array]:
        rows = self._library.sonde_rawlog_rows(self._handle, record)
        count = len(self._library.sonde_rawlog_fields(record))
        if not rows:
            return [np.empty(0, np.int64) for _ in range(count)]
        starts = [self._library.sonde_rawlog_column(self._handle, record, i) for i in range(count)]
        return [np.ctypeslib.as_array(start, (rows,)).copy() for start in starts]

    def summary(self) -> list[int]:
        out = (ctypes.c_int64 * 7)()
        self._library.sonde_rawlog_summary(self._handle, out)
        return list(out)


_Record = TypeVar("_Record")


def _record(decoded: _Decoded, number: int, cls: type[_Record]) -> _Record:
    """The columns of one record type, text fields as `Text` over the values they use."""
    values: dict[str, Any] = {}
    for column, field in zip(decoded.columns(number), fields(cls), strict=True):  # type: ignore[arg-type]
        if field.type == "Text":
            used, codes = np.unique(column, return_inverse=True)
            texts = [decoded.texts[i] for i in used]
            values[field.name] = Text(codes.astype(np.int32).reshape(-1), texts)
        else:
            values[field.name] = column
    return cls(**values)


def _convert(path: Path, decoded: _Decoded) -> RawLog:
    total, lost, chunks, malformed, unknown, dangling, stop = decoded.summary()
    header = _header(path, decoded, total, _STOPS[stop])
    problems = [
        Problem("truncated_log", "bytes", lost, f"{path.name}: {_STOPS[stop]} after {chunks} chunks"),
        Problem("malformed_record", "events", malformed, f"{path.name}: fields do not fit their record"),
        Problem("unknown_record", "events", unknown, f"{path.name}: written by a newer Sonde"),
        Problem("unknown_stack", "events", dangling, f"{path.name}: stack number that no record defines"),
    ]
    codes = _record(decoded, 9, Codes)
    return RawLog(
        path=path,
        header=header,
        footer=_footer(decoded),
        thread_starts=_record(decoded, 3, ThreadStarts),
        thread_ends=_record(decoded, 4, ThreadEnds),
        mappings=_record(decoded, 5, Mappings),
        unmappings=_record(decoded, 6, Unmappings),
        nodes=_record(decoded, 7, Nodes),
        python_nodes=_record(decoded, 8, PythonNodes),
        codes=codes,
        samples=_record(decoded, 10, Samples),
        waits=_record(decoded, 11, Samples),
        jit_codes=_record(decoded, 12, JitCodes),
        losses=_record(decoded, 13, Losses),
        counters=_record(decoded, 14, Counters),
        blocks=_record(decoded, 15, Blocks),
        statistics=_record(decoded, 16, Statistics),
        modules=_record(decoded, 18, Modules),
        blobs=decoded.blobs,
        size_bytes=total,
        problems=tuple(p for p in problems if p.count),
    )


def _header(path: Path, decoded: _Decoded, total: int, stop: str) -> Header:
    columns = decoded.columns(1)
    if not len(columns[0]):
        raise InputError(
            f"{path} is not a raw log of Sonde: {total} bytes without a header ({stop})",
            "the process died within its first moments, or this is another file",
        )
    last = [int(column[-1]) for column in columns]
    if last[0] != 1:
        raise InputError(f"{path} has log version {last[0]}; this Sonde reads version 1", "upgrade Sonde")
    texts = [decoded.texts[i] for i in last[6:9]]
    return Header(
        version=last[0],
        pid=last[1],
        parent_pid=last[2],
        start_ns=last[3],
        epoch_offset_ns=last[4],
        rate_hz=last[5],
        engine=texts[0],
        python=texts[1],
        command=texts[2],
        origin=_name(PROCESS_ORIGINS, last[9]),
    )


def _footer(decoded: _Decoded) -> Footer | None:
    columns = decoded.columns(17)
    if not len(columns[0]):
        return None
    end, offset, user, system, rss, reason = (int(column[-1]) for column in columns)
    return Footer(end, offset, user, system, rss, _name(("exit", "exec"), reason))


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if 0 <= index < len(names) else f"unknown_{index}"


def _library() -> ctypes.CDLL:
    library = tools()
    library.sonde_rawlog_read.restype = ctypes.c_void_p
    library.sonde_rawlog_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]
    library.sonde_rawlog_free.restype = None
    library.sonde_rawlog_free.argtypes = [ctypes.c_void_p]
    library.sonde_rawlog_rows.restype = ctypes.c_int64
    library.sonde_rawlog_rows.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.sonde_rawlog_column.restype = ctypes.POINTER(ctypes.c_int64)
    library.sonde_rawlog_column.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.sonde_rawlog_fields.restype = ctypes.c_char_p
    library.sonde_rawlog_fields.argtypes = [ctypes.c_int64]
    library.sonde_rawlog_strings.restype = ctypes.c_int64
    library.sonde_rawlog_strings.argtypes = [ctypes.c_void_p]
    library.sonde_rawlog_string.restype = ctypes.c_void_p
    library.sonde_rawlog_string.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
    ]
    library.sonde_rawlog_summary.restype = None
    library.sonde_rawlog_summary.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)]
    return library
