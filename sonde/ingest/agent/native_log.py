"""The C side of the log reader (native/tools/rawlog): its functions, and a decoded log as columns.

Enters: a handle of the library. Leaves: int64 columns and texts, copied out, so that they outlive it.
"""

from __future__ import annotations

import ctypes

import numpy as np

from sonde.columns import Array, Text
from sonde.native import tools


class Decoded:
    """A handle of the C side; columns are copied out, so they outlive it."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self._handle = handle
        self.behind = 0  # bytes in files of a ring behind their last whole chunk
        self.blobs: list[bytes] = []
        self.strings: list[str] = []
        self.read_strings()

    def read_strings(self) -> None:
        """Those that came since the last call."""
        size = ctypes.c_int64()
        for number in range(len(self.blobs), self._library.sonde_rawlog_strings(self._handle)):
            start = self._library.sonde_rawlog_string(self._handle, number, ctypes.byref(size))
            self.blobs.append(ctypes.string_at(start, size.value))
            self.strings.append(self.blobs[-1].decode("utf-8", "replace"))

    def columns(self, record: int) -> list[Array]:
        rows = self._library.sonde_rawlog_rows(self._handle, record)
        count = len(self._library.sonde_rawlog_fields(record))
        if not rows:
            return [np.empty(0, np.int64) for _ in range(count)]
        starts = [self._library.sonde_rawlog_column(self._handle, record, i) for i in range(count)]
        return [np.ctypeslib.as_array(start, (rows,)).copy() for start in starts]

    def text(self, column: Array) -> Text:
        used, codes = np.unique(column, return_inverse=True)
        return Text(codes.reshape(-1).astype(np.int32), [self.strings[i] for i in used])

    def summary(self) -> list[int]:
        out = (ctypes.c_int64 * 12)()
        self._library.sonde_rawlog_summary(self._handle, out)
        return list(out)


def library() -> ctypes.CDLL:
    """The shared library with the types of its functions."""
    found = tools()
    found.sonde_rawlog_read.restype = ctypes.c_void_p
    found.sonde_rawlog_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]
    found.sonde_rawlog_follow.restype = ctypes.c_void_p
    found.sonde_rawlog_follow.argtypes = []
    found.sonde_rawlog_more.restype = ctypes.c_int64
    found.sonde_rawlog_more.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64]
    found.sonde_rawlog_next_file.restype = None
    found.sonde_rawlog_next_file.argtypes = [ctypes.c_void_p]
    found.sonde_rawlog_forget_events.restype = None
    found.sonde_rawlog_forget_events.argtypes = [ctypes.c_void_p]
    found.sonde_rawlog_free.restype = None
    found.sonde_rawlog_free.argtypes = [ctypes.c_void_p]
    found.sonde_rawlog_rows.restype = ctypes.c_int64
    found.sonde_rawlog_rows.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    found.sonde_rawlog_column.restype = ctypes.POINTER(ctypes.c_int64)
    found.sonde_rawlog_column.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    found.sonde_rawlog_fields.restype = ctypes.c_char_p
    found.sonde_rawlog_fields.argtypes = [ctypes.c_int64]
    found.sonde_rawlog_strings.restype = ctypes.c_int64
    found.sonde_rawlog_strings.argtypes = [ctypes.c_void_p]
    found.sonde_rawlog_string.restype = ctypes.c_void_p
    found.sonde_rawlog_string.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
    ]
    found.sonde_rawlog_summary.restype = None
    found.sonde_rawlog_summary.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)]
    return found
