"""The native trace reader behind ctypes: a Kineto file in, numpy columns out.

A `NativeTrace` owns the columns of one file. Columns are views into native
memory, so copy what must outlive it. Reading releases the GIL: several files
are read in parallel by ordinary threads.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde import native
from sonde.columns import Array, Text
from sonde.errors import InputError, SondeError

# Families of events, as in native/tools/trace/columns.h.
OPS, LAUNCHES, DEVICE, INSTANTS, FLOWS, COUNTERS, OTHERS = range(7)
_COLUMNS: dict[str, tuple[int, npt.DTypeLike]] = {
    "track": (0, np.int32),
    "category": (1, np.int32),
    "name": (2, np.int32),
    "start_ns": (3, np.int64),
    "duration_ns": (4, np.int64),
    "id": (5, np.int64),
}
_TRACK_COLUMNS: dict[str, tuple[int, npt.DTypeLike]] = {
    "pid": (0, np.int64),
    "tid": (1, np.int64),
    "document": (2, np.int32),
    "thread_name": (3, np.int32),
    "process_name": (4, np.int32),
    "process_label": (5, np.int32),
}
_FACTS = ("events", "metadata_events", "plain_bytes", "file_bytes", "gzip", "documents", "has_events")
_TRACK_COUNT, _METADATA_COUNT = 7, 10
WORD_ID = -(2**63)  # ids that are words are WORD_ID + string code


@dataclass(frozen=True)
class Limits:
    """Bounds that end a hostile file in an error instead of in all memory taken."""

    value_bytes: int = 64 << 20  # longest event or metadata value
    metadata_bytes: int = 256 << 20
    metadata_entries: int = 65536
    inflate_ratio: int = 250  # plain bytes per gzip byte, beyond the first 256 MB


@dataclass(frozen=True)
class Loss:
    """Something that the file says wrongly or not at all."""

    cause: str
    unit: str
    meaning: str
    count: int
    first_byte: int


@functools.cache
def _library() -> ctypes.CDLL:
    lib = native.tools()
    pointer: Any = ctypes.c_void_p
    i64: Any = ctypes.c_int64
    lib.sonde_trace_read.argtypes = [ctypes.c_char_p, pointer, pointer, ctypes.c_char_p, ctypes.c_size_t]
    lib.sonde_trace_read_memory.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        pointer,
        pointer,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    lib.sonde_trace_free.argtypes = [pointer]
    lib.sonde_trace_free.restype = None
    lib.sonde_trace_fact.argtypes = [pointer, ctypes.c_int]
    lib.sonde_trace_fact.restype = i64
    lib.sonde_trace_rows.argtypes = [pointer, ctypes.c_int]
    lib.sonde_trace_rows.restype = i64
    lib.sonde_trace_column.argtypes = [pointer, ctypes.c_int, ctypes.c_int]
    lib.sonde_trace_column.restype = pointer
    lib.sonde_trace_tracks.argtypes = [pointer, ctypes.c_int]
    lib.sonde_trace_tracks.restype = pointer
    lib.sonde_trace_strings.argtypes = [pointer, ctypes.c_int, pointer, pointer, pointer]
    lib.sonde_trace_strings.restype = None
    lib.sonde_trace_metadata.argtypes = [pointer, i64] + [pointer] * 6
    lib.sonde_trace_metadata.restype = None
    lib.sonde_trace_loss.argtypes = [pointer, ctypes.c_int] + [pointer] * 5
    lib.sonde_trace_fill.argtypes = [pointer, ctypes.c_int, pointer, pointer, pointer]
    lib.sonde_trace_fill.restype = None
    lib.sonde_trace_compose.argtypes = [pointer, ctypes.c_int, pointer, pointer]
    lib.sonde_trace_compose.restype = None
    lib.sonde_recode.argtypes = [i64, pointer, i64, pointer, pointer]
    lib.sonde_recode.restype = i64
    return lib


def _view(address: int | None, count: int, dtype: npt.DTypeLike) -> Array:
    kind = np.dtype(dtype)
    if not address or count == 0:
        return np.empty(0, kind)
    buffer = (ctypes.c_char * (count * kind.itemsize)).from_address(address)
    return np.frombuffer(memoryview(buffer), dtype=kind)


class NativeTrace:
    """One trace as columns. Use as a context manager: leaving it frees the native memory."""

    def __init__(self, source: Path | bytes, limits: Limits | None = None) -> None:
        lib = _library()
        chosen = limits or Limits()
        bounds = (ctypes.c_uint64 * 4)(
            chosen.value_bytes, chosen.metadata_bytes, chosen.metadata_entries, chosen.inflate_ratio
        )
        handle = ctypes.c_void_p()
        error = ctypes.create_string_buffer(512)
        if isinstance(source, bytes):
            what = f"trace of {len(source)} bytes"
            code = lib.sonde_trace_read_memory(
                source, len(source), bounds, ctypes.byref(handle), error, len(error)
            )
        else:
            what = str(source)
            code = lib.sonde_trace_read(os.fsencode(source), bounds, ctypes.byref(handle), error, len(error))
        message = error.value.decode("utf-8", "replace")
        if code == 1:
            raise InputError(f"{what} cannot be read as a trace: {message}")
        if code != 0:
            raise SondeError(f"reading {what} failed: {message}")
        self._handle = handle
        self._lib = lib

    def __enter__(self) -> NativeTrace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the native memory; every view is invalid afterwards."""
        if self._handle:
            self._lib.sonde_trace_free(self._handle)
            self._handle = ctypes.c_void_p()

    def fact(self, name: str) -> int:
        """One of events, metadata_events, plain_bytes, file_bytes, gzip, documents, has_events."""
        return int(self._lib.sonde_trace_fact(self._handle, _FACTS.index(name)))

    def rows(self, family: int) -> int:
        return int(self._lib.sonde_trace_rows(self._handle, family))

    def column(self, family: int, name: str) -> Array:
        """A view of a column: track, category, name, start_ns, duration_ns; id of flows."""
        number, dtype = _COLUMNS[name]
        address = self._lib.sonde_trace_column(self._handle, family, number)
        return _view(address, self.rows(family), dtype)

    def tracks(self, name: str) -> Array:
        """A view of a column of tracks: pid, tid, document, thread_name, process_name, process_label."""
        number, dtype = _TRACK_COLUMNS[name]
        count = int(self._lib.sonde_trace_fact(self._handle, _TRACK_COUNT))
        return _view(self._lib.sonde_trace_tracks(self._handle, number), count, dtype)

    def arguments(self, family: int, wanted: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, Array]:
        """Arguments as arrays: name → (i64, f64 or text; the keys it goes by). Text comes as codes."""
        count = self.rows(family)
        slot = np.full(max(1, len(self.argument_keys())), -1, np.int32)
        codes = {key: i for i, key in enumerate(self.argument_keys())}
        kinds = np.zeros(max(1, len(wanted)), np.int32)
        addresses = (ctypes.c_void_p * max(1, len(wanted)))()
        result: dict[str, Array] = {}
        for number, (name, (kind, keys)) in enumerate(wanted.items()):
            if kind == "i64":
                result[name] = np.full(count, -1, np.int64)
            elif kind == "f64":
                kinds[number] = 1
                result[name] = np.full(count, np.nan)
            else:
                kinds[number] = 2
                result[name] = np.full(count, -1, np.int32)
            addresses[number] = result[name].ctypes.data
            for key in keys:
                if key in codes:
                    slot[codes[key]] = number
        self._lib.sonde_trace_fill(self._handle, family, slot.ctypes.data, kinds.ctypes.data, addresses)
        return result

    def compose(self, family: int, chosen: Sequence[bool]) -> Array:
        """Codes of JSON objects of the arguments whose key has `chosen[code]`; -1 for rows with none."""
        wanted = np.asarray([*chosen, False], np.uint8)
        result = np.full(self.rows(family), -1, np.int32)
        self._lib.sonde_trace_compose(self._handle, family, wanted.ctypes.data, result.ctypes.data)
        return result

    def argument_keys(self) -> list[str]:
        """Argument keys, by code."""
        return self._strings(1, None)

    def text(self, codes: Array) -> Text:
        """The text column behind string codes, with only the strings that it uses."""
        given = np.ascontiguousarray(codes, np.int32)
        count = self._string_count()
        dense, chosen = np.empty(len(given), np.int32), np.empty(min(count, len(given)), np.int32)
        used = self._lib.sonde_recode(
            len(given), given.ctypes.data, count, dense.ctypes.data, chosen.ctypes.data
        )
        return Text(dense, self._strings(0, chosen[:used].astype(np.int64)))

    def string(self, code: int) -> str:
        return self._strings(0, np.array([code]))[0]

    def metadata(self) -> list[tuple[str, str, bool, int]]:
        """Top-level entries: key, value (JSON text, or the string itself), is_string, document."""
        found = []
        for entry in range(int(self._lib.sonde_trace_fact(self._handle, _METADATA_COUNT))):
            key, value = ctypes.c_void_p(), ctypes.c_void_p()
            key_size, value_size = ctypes.c_int64(), ctypes.c_int64()
            is_string, document = ctypes.c_int(), ctypes.c_int()
            self._lib.sonde_trace_metadata(
                self._handle,
                entry,
                ctypes.byref(key),
                ctypes.byref(key_size),
                ctypes.byref(value),
                ctypes.byref(value_size),
                ctypes.byref(is_string),
                ctypes.byref(document),
            )
            texts = [
                ctypes.string_at(p.value, n.value).decode("utf-8", "replace") if p.value and n.value else ""
                for p, n in ((key, key_size), (value, value_size))
            ]
            found.append((texts[0], texts[1], bool(is_string.value), document.value))
        return found

    def losses(self) -> list[Loss]:
        """The causes that occurred."""
        found = []
        cause, unit, meaning = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_char_p()
        count, first = ctypes.c_uint64(), ctypes.c_uint64()
        out: list[Any] = [ctypes.byref(x) for x in (cause, unit, meaning, count, first)]
        number = 0
        while self._lib.sonde_trace_loss(self._handle, number, *out):
            number += 1
            if count.value:
                words = [(x.value or b"").decode() for x in (cause, unit, meaning)]
                found.append(Loss(words[0], words[1], words[2], count.value, first.value))
        return found

    def _string_count(self) -> int:
        return int(self._lib.sonde_trace_fact(self._handle, 8))

    def _strings(self, which: int, chosen: Array | None) -> list[str]:
        address, offsets_address, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int64()
        self._lib.sonde_trace_strings(
            self._handle, which, ctypes.byref(address), ctypes.byref(offsets_address), ctypes.byref(count)
        )
        offsets = _view(offsets_address.value, count.value + 1, np.uint64).astype(np.int64)
        if chosen is None:
            chosen = np.arange(count.value)
        starts, stops = offsets[chosen].tolist(), offsets[chosen + 1].tolist()
        blob = ctypes.string_at(address.value, int(offsets[-1])) if address.value else b""
        if blob.isascii():  # nearly always: slices of one string are cheaper than decoding each
            whole = blob.decode("ascii")
            return [whole[a:b] for a, b in zip(starts, stops, strict=True)]
        return [blob[a:b].decode("utf-8", "replace") for a, b in zip(starts, stops, strict=True)]
