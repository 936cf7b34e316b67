"""Symbols of one ELF file, through libsonde_tools.so.

In: a library's path and file offsets of code. Out: for each the symbol around it, demangled.
Nothing is cached here; `sonde.symbols.resolver` asks once per address and build id.
"""

from __future__ import annotations

import ctypes
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sonde.native import tools
from sonde.symbols import rust

_DEBUG_ROOT = Path("/usr/lib/debug")


class Source(IntEnum):
    """Where a name came from (native/tools/elf/symbols.h)."""

    NONE = 0
    SYMTAB = 1
    DYNSYM = 2
    PLT = 3
    UNWIND = 4  # the function's first address is known; `name` is that of the exported function before it
    UNSIZED = 5


@dataclass(frozen=True)
class Symbol:
    """The function around an address. `name` is empty when the file does not tell."""

    address: int  # virtual address in the file
    start: int
    size: int
    source: Source
    name: str


def resolve(path: Path, offsets: Sequence[int], debug_path: Path | None = None) -> list[Symbol] | None:
    """Symbols for file offsets, in their order. None when `path` is no readable ELF file."""
    count = len(offsets)
    wanted = np.asarray(offsets, np.uint64)
    address, start, size = (np.zeros(count, np.uint64) for _ in range(3))
    source = np.zeros(count, np.uint8)
    name_at = np.zeros(count, np.uint32)
    names, names_size = ctypes.c_void_p(), ctypes.c_size_t()
    library = tools()
    status = library.sonde_elf_resolve(
        str(path).encode(),
        str(debug_path or "").encode(),
        _pointer(wanted),
        ctypes.c_size_t(count),
        *(_pointer(a) for a in (address, start, size, source, name_at)),
        ctypes.byref(names),
        ctypes.byref(names_size),
    )
    if status != 0:
        return None
    blob = ctypes.string_at(names.value or 0, names_size.value)
    library.sonde_elf_free(names)
    return [
        Symbol(int(a), int(b), int(c), Source(int(d)), _readable(blob[n : blob.index(b"\0", n)]))
        for a, b, c, d, n in zip(address, start, size, source, name_at.tolist(), strict=True)
    ]


def build_id(path: Path) -> str | None:
    """The build id as hex, None when the file has none."""
    out = ctypes.create_string_buffer(160)
    found = tools().sonde_elf_build_id(str(path).encode(), out, ctypes.c_size_t(160))
    return out.value.decode() if found else None


def debug_file(path: Path, build: str | None) -> Path | None:
    """The file with debug information for `path`: itself, by build id (installed or fetched), or by .gnu_debuglink."""
    library = tools()
    if library.sonde_elf_has_debug_info(str(path).encode()):
        return path
    if build and len(build) > 2:
        candidate = _DEBUG_ROOT / ".build-id" / build[:2] / f"{build[2:]}.debug"
        if candidate.exists():
            return candidate
        for candidate in (folder / build / "debuginfo" for folder in _debuginfod_caches()):
            if candidate.is_file():
                return candidate
    name, crc = ctypes.create_string_buffer(512), ctypes.c_uint32()
    if not library.sonde_elf_debug_link(str(path).encode(), name, ctypes.c_size_t(512), ctypes.byref(crc)):
        return None
    file = name.value.decode("utf-8", "replace")
    folder = path.resolve().parent
    for candidate in (folder / file, folder / ".debug" / file, _DEBUG_ROOT / folder.relative_to("/") / file):
        if candidate.is_file() and candidate != path and zlib.crc32(candidate.read_bytes()) == crc.value:
            return candidate
    return None


def _debuginfod_caches() -> list[Path]:
    """Where debuginfod's client keeps what it has fetched. Nothing is fetched here."""
    chosen = os.environ.get("DEBUGINFOD_CACHE_PATH")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (
        [Path(chosen)] if chosen else [base / "debuginfod_client", Path.home() / ".debuginfod_client_cache"]
    )


def demangle(name: str) -> str:
    """A C++ or Rust name for people; other names as they are."""
    if not name.startswith("_Z"):
        return rust.demangle(name) or name
    library = tools()
    library.sonde_demangle.restype = ctypes.c_void_p
    text = library.sonde_demangle(name.encode())
    result = ctypes.string_at(text).decode("utf-8", "replace")
    library.sonde_elf_free(ctypes.c_void_p(text))
    return result


def _readable(name: bytes) -> str:
    """C++ names come demangled."""
    text = name.decode("utf-8", "replace")
    return rust.demangle(text) or text


def _pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
