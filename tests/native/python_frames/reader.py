"""The harness library as Python sees it. Runs on any interpreter, with the standard library alone."""

from __future__ import annotations

import ctypes
import sys
from types import FrameType

FAILED, TRUNCATED, COUNT = 1 << 20, 1 << 21, (1 << 20) - 1
MAX_FRAMES = 2048


class Row(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint32),
        ("instruction", ctypes.c_int32),
        ("self", ctypes.c_uint64),
        ("entry", ctypes.c_uint8),
    ]


class Harness:
    def __init__(self, path: str) -> None:
        self.lib = ctypes.CDLL(path)  # releases the GIL around calls
        self.held = ctypes.PyDLL(path)  # keeps it
        for lib in (self.lib, self.held):
            lib.harness_attach.restype = ctypes.c_char_p
            lib.harness_version.restype = ctypes.c_char_p
            lib.harness_anchor.restype = ctypes.c_int64
            lib.harness_walk_garbage.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
        why = self.lib.harness_attach()
        assert why == b"", why
        self._codes: dict[int, tuple[str, str, int, bytes]] = {}

    def code(self, number: int) -> tuple[str, str, int, bytes]:
        """Qualified name, file, first line, line table."""
        if number not in self._codes:
            texts = [(ctypes.c_void_p(), ctypes.c_uint32()) for _ in range(3)]
            line = ctypes.c_int32()
            arguments = [ctypes.byref(part) for text in texts for part in text]
            assert self.lib.harness_code(number, *arguments, ctypes.byref(line)), number
            name, file, table = (
                ctypes.string_at(p.value or 0, n.value) if n.value else b"" for p, n in texts
            )
            self._codes[number] = (name.decode(), file.decode(), line.value, table)
        return self._codes[number]

    def walk(self, held: bool = False, capacity: int = MAX_FRAMES) -> tuple[int, list[Row]]:
        """Flags and frames of the caller's stack, leaf first, without this method's own frame."""
        rows = (Row * MAX_FRAMES)()
        result = (self.held if held else self.lib).harness_walk(rows, capacity)
        return result & ~COUNT, list(rows[1 : result & COUNT])

    def stored(self) -> list[tuple[int, list[Row]]]:
        rows = (Row * MAX_FRAMES)()
        walks = []
        for at in range(self.lib.harness_stored()):
            result = self.lib.harness_stored_walk(at, rows)
            frames = [Row.from_buffer_copy(row) for row in rows[: result & COUNT]]
            walks.append((result & ~COUNT, frames))
        return walks


def expected(frame: FrameType | None) -> list[tuple[str, str, int, int]]:
    """The interpreter's own view: name, file, first line, current instruction, leaf first."""
    rows = []
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
        rows.append((name, code.co_filename, code.co_firstlineno, frame.f_lasti))
        frame = frame.f_back
    return rows
