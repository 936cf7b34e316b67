"""Line tables against the interpreter's own reading of them, over real code."""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.symbols.linetable import decode, line_of

MODULES = ["argparse", "asyncio/base_events", "ast", "dataclasses", "typing", "tarfile", "_pydecimal"]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _codes(constant)


@pytest.mark.parametrize("module", MODULES)
def test_every_instruction_of_a_stdlib_module_has_the_interpreters_line(module: str) -> None:
    path = Path(json.__file__).parents[1] / f"{module}.py"
    checked = 0
    for code in _codes(compile(path.read_text(encoding="utf-8"), str(path), "exec")):
        table = decode(code.co_linetable, code.co_firstlineno, sys.version_info[1])
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                assert table.line(offset) == line, (code.co_qualname, offset)
                checked += 1
        assert table.end == len(code.co_code)
    assert checked > 1000


def test_the_table_of_3_10_gives_lines_as_its_documentation_says() -> None:
    # (byte delta, line delta): 6 bytes at line 10, 50 at 12 in two entries, none, then back to 11.
    table = bytes([6, 0, 50, 2, 4, 0x80, 0, 256 - 1, 8, 0])
    decoded = decode(table, 10, 10)
    assert [decoded.line(i) for i in (0, 4, 6, 54, 56, 58, 60, 66, 68)] == [
        10, 10, 12, 12, None, None, 11, 11, None,
    ]  # fmt: skip


def test_a_frame_without_a_line_shows_the_functions_first_line() -> None:
    assert line_of(b"", 7, 12, 11) == 7
    assert line_of(bytes([0x80 | 15 << 3]), 7, 0, 11) == 7  # an entry without location
    assert line_of(bytes([0x80 | 11 << 3, 0, 0]), 7, -1, 11) == 7
    assert line_of(bytes([0x80 | 11 << 3, 0, 0]), 7, 0, 11) == 8


@pytest.mark.parametrize("minor", [10, 11, 14])
def test_damaged_tables_never_raise(minor: int) -> None:
    for n in range(256):
        decode(bytes([n, 255 - n, n]), 1, minor).line(2)
