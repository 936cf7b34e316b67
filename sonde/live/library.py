"""The native reader of another process's stacks (native/dump), through libsonde_dump.so.

In: a process id. Out: per thread its native addresses and Python codes, leaf first, as the library gives them.
One process at a time; the structures are those of native/dump/thread.h and native/agent/python/code_table.h.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

from sonde import native

_FRAMES = 4096
FRAME_EVAL = 8  # native/agent/unwind/unwind.h
FRAME_SCANNED = 4
FRAME_JIT = 1
END_ROOT = 0


class How(IntEnum):
    """How a thread was read."""

    WAITING = 0
    STOPPED = 1
    NOT_STOPPED = 2
    GONE = 3


class ThreadStacks(ctypes.Structure):
    _fields_ = (
        ("tid", ctypes.c_int32),
        ("how", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("native_end", ctypes.c_int32),
        ("system_call", ctypes.c_int64),
        ("argument", ctypes.c_uint64 * 6),
        ("stop_ns", ctypes.c_uint64),
        ("native_count", ctypes.c_uint32),
        ("python_count", ctypes.c_uint32),
        ("python_failed", ctypes.c_int32),
        ("has_python", ctypes.c_int32),
        ("holds_gil", ctypes.c_int32),
        ("moved", ctypes.c_int32),
        ("pc", ctypes.c_uint64 * _FRAMES),
        ("flags", ctypes.c_uint8 * _FRAMES),
        ("code", ctypes.c_uint32 * _FRAMES),
        ("instruction", ctypes.c_int32 * _FRAMES),
        ("entry", ctypes.c_uint8 * _FRAMES),
    )


class CodeInfo(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_size", ctypes.c_uint32),
        ("file", ctypes.c_void_p),
        ("file_size", ctypes.c_uint32),
        ("line_table", ctypes.c_void_p),
        ("line_table_size", ctypes.c_uint32),
        ("first_line", ctypes.c_int32),
    )


class Reader:
    """One process, until `close`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._library = native.dump()
        self._library.sonde_dump_mapping.restype = ctypes.c_char_p
        self.error = int(self._library.sonde_dump_open(pid))  # an error number; 0: it may be read
        why = ctypes.c_char_p()
        self.python_minor = 0 if self.error else int(self._library.sonde_dump_python(ctypes.byref(why)))
        self.python_refusal = why.value.decode() if why.value else None

    def close(self) -> None:
        self._library.sonde_dump_close()

    def find_python_threads(self) -> int:
        return int(self._library.sonde_dump_python_threads())

    def thread(self, tid: int, into: ThreadStacks) -> None:
        self._library.sonde_dump_thread(self.pid, tid, ctypes.byref(into))

    def mapping(self, address: int) -> tuple[str, int, int] | None:
        """Path, start and file offset of the mapping that holds the address."""
        start, offset = ctypes.c_uint64(), ctypes.c_uint64()
        path = self._library.sonde_dump_mapping(
            ctypes.c_uint64(address), ctypes.byref(start), ctypes.byref(offset)
        )
        return None if path is None else (path.decode("utf-8", "replace"), start.value, offset.value)

    def read_int32(self, address: int) -> int | None:
        value = ctypes.c_int32()
        found = self._library.sonde_dump_read(
            ctypes.c_uint64(address), ctypes.byref(value), ctypes.c_size_t(4)
        )
        return value.value if found else None

    def code(self, number: int) -> tuple[str, str, int, bytes] | None:
        """Name, file, first line and line table of a code object."""
        info = CodeInfo()
        if not self._library.sonde_dump_code(ctypes.c_uint32(number), ctypes.byref(info)):
            return None
        name = ctypes.string_at(info.name, info.name_size).decode("utf-8", "replace")
        file = ctypes.string_at(info.file, info.file_size).decode("utf-8", "replace")
        return name, file, info.first_line, ctypes.string_at(info.line_table, info.line_table_size)
