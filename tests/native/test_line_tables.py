"""The agent's shortened line tables say of every instruction the line that CPython's own say."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).parents[2]
DOOR = """
#include "python/line_table.h"
extern "C" size_t lines_only(const uint8_t* table, size_t size, uint8_t* out, size_t capacity) {
  return sonde::python::lines_only(table, size, out, capacity);
}
"""
pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile with"),
    pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 line tables have lines only"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "door.cpp").write_text(DOOR)
    agent = ROOT / "native/agent"
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-fsanitize=bounds",
        "-fsanitize-undefined-trap-on-error",
        "-shared",
    ]
    sources = [folder / "door.cpp", agent / "python/line_table.cpp"]
    subprocess.run(
        [*command, "-fPIC", "-I", agent, "-I", agent / "arch/x86_64", *sources, "-o", folder / "lines.so"],
        check=True,
    )
    found = ctypes.CDLL(str(folder / "lines.so"))
    found.lines_only.restype = ctypes.c_size_t
    found.lines_only.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return found


def shortened(library: ctypes.CDLL, table: bytes) -> bytes:
    out = ctypes.create_string_buffer(1 << 16)
    size: int = library.lines_only(table, len(table), out, len(out))
    return out.raw[:size]


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def test_lines_are_those_of_the_interpreter(library: ctypes.CDLL) -> None:
    before = after = 0
    for path in sorted(Path(os.__file__).parent.glob("[a-d]*.py")):
        for code in codes(compile(path.read_bytes(), str(path), "exec")):
            table = shortened(library, code.co_linetable)
            lines = [position[0] for position in code.replace(co_linetable=table).co_positions()]
            assert lines == [position[0] for position in code.co_positions()], (path, code.co_qualname)
            before, after = before + len(code.co_linetable), after + len(table)
    assert before > 100_000
    assert after < before / 2


def test_damaged_tables_are_refused_or_read_within_their_bounds(library: ctypes.CDLL) -> None:
    rng = random.Random(1)
    good = codes.__code__.co_linetable
    for _ in range(20_000):
        table = bytearray(good[: rng.randrange(len(good) + 1)])
        for _ in range(rng.randrange(4)):
            if table:
                table[rng.randrange(len(table))] = rng.randrange(256)
        shortened(library, bytes(table))
    assert library.lines_only(good, len(good), ctypes.create_string_buffer(1), 1) == 0
