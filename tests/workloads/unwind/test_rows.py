"""The call-frame interpreter agrees with readelf on every row of libraries that this process has loaded."""

from __future__ import annotations

import ctypes
import ctypes.util
import shutil
from pathlib import Path

import pytest

from tests.workloads.unwind import harness, readelf_rows


def loaded(name: str) -> str | None:
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[5:]
        if path and Path(path[0]).name.startswith(name):
            return path[0]
    return None


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf (binutils) to compare with")
@pytest.mark.parametrize("name", ["libc.so", "libm.so", "libpython", "libstdc++"])
def test_every_row_is_what_readelf_prints(walk_harness: Path, name: str) -> None:
    if name != "libpython" and loaded(name) is None:
        ctypes.CDLL(ctypes.util.find_library(name.removeprefix("lib").removesuffix(".so")))
    path = loaded(name)
    if path is None:
        pytest.skip(f"{name} is not a library of this process")
    rows, wrong = readelf_rows.compare(harness.load(walk_harness), path)
    assert rows > 1000
    assert wrong == []


def test_memory_that_is_not_there_is_reported_and_not_fatal(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    here = ctypes.create_string_buffer(8)
    assert library.sonde_test_readable(ctypes.addressof(here)) == 1
    assert library.sonde_test_readable(0x10000) == 0
    assert library.sonde_test_readable(0xDEAD000000000000) == 0


def test_a_scan_reads_nothing_through_words_that_are_not_code(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    library.sonde_test_faults.restype = ctypes.c_uint64
    library.sonde_test_walk.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int]
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_uint64
    libc.mmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    size, private_anonymous = 4096, 0x22
    closed = libc.mmap(0, size, 0, private_anonymous, -1, 0)  # a device, say: reading it is a fault here
    code = libc.mmap(0, size, 3, private_anonymous, -1, 0)  # generated, and of no known form
    ctypes.memset(code, 0x06, size)
    stack = libc.mmap(0, size, 3, private_anonymous, -1, 0)
    for at in range(stack, stack + size, 8):
        ctypes.c_uint64.from_address(at).value = closed + 64
    registers = (ctypes.c_uint64 * 17).in_dll(library, "sonde_test_registers")
    registers[7], registers[16] = stack, code + 64
    before = library.sonde_test_faults()
    library.sonde_test_walk(stack, stack + size, 1 << 7 | 1 << 16, 1)
    assert library.sonde_test_faults() == before
