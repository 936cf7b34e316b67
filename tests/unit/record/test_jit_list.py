"""Functions that a library registered for debuggers: read from its list, and named in the recording."""

from __future__ import annotations

import ctypes
import dataclasses
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from sonde.columns import Text
from sonde.ingest.agent.generated import with_functions
from sonde.ingest.agent.log import RawJit, RawLog
from sonde.record.inside import jit_list

TEXT_ADDRESS = 0x7F0000001000


def object_file(*symbols: tuple[str, int, int, int]) -> bytes:
    """An object file as LLVM registers it; symbols are name, kind, place in the code, size."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in symbols)
    table = bytes(24)
    for name, kind, value, size in symbols:
        table += struct.pack(
            "<IBBHQQ", strings.index(b"\0" + name.encode() + b"\0") + 1, kind, 0, 1, value, size
        )
    at_table, at_strings = 64, 64 + len(table)
    at_sections = at_strings + len(strings)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at_sections, 0, 64, 0, 0, 64, 4, 0)

    def section(kind: int, address: int, offset: int, size: int, link: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, address, offset, size, link, 0, 0, 0)

    sections = section(0, 0, 0, 0, 0) + section(1, TEXT_ADDRESS, 0, 0, 0)
    sections += section(2, 0, at_table, len(table), 3) + section(3, 0, at_strings, len(strings), 0)
    return head + table + strings + sections


def test_the_list_of_a_library_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two objects in memory of this process; a symbol that is no function does not count."""
    objects = [
        object_file(("kernel", 2, 0x10, 0x20), ("table", 1, 0, 8)),
        object_file(("_ZN4main4stepEv", 2, 0x100, 0x30)),
    ]
    kept = [ctypes.create_string_buffer(data, len(data)) for data in objects]
    entries = [ctypes.create_string_buffer(32) for _ in objects]
    for i, data in enumerate(objects):
        following = ctypes.addressof(entries[i + 1]) if i + 1 < len(objects) else 0
        entries[i].raw = struct.pack("<QQQQ", following, 0, ctypes.addressof(kept[i]), len(data))
    descriptor = ctypes.create_string_buffer(struct.pack("<IIQQ", 1, 0, 0, ctypes.addressof(entries[0])), 24)
    monkeypatch.setattr(jit_list, "_loaded", lambda: [("/x/libllvmlite.so", ctypes.addressof(descriptor))])
    monkeypatch.setattr(jit_list, "_descriptor", lambda path: 0)
    assert list(jit_list.functions()) == [
        (TEXT_ADDRESS + 0x10, 0x20, "kernel"),
        (TEXT_ADDRESS + 0x100, 0x30, "_ZN4main4stepEv"),
    ]


def test_a_list_that_points_nowhere_is_an_error_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit_list, "_loaded", lambda: [("/x/libllvmlite.so", 16)])
    monkeypatch.setattr(jit_list, "_descriptor", lambda path: 0)
    with pytest.raises(OSError, match="Input/output error"):
        list(jit_list.functions())


@dataclasses.dataclass(frozen=True)
class _Header:
    pid: int


@dataclasses.dataclass(frozen=True)
class _Log:
    header: _Header
    jit: RawJit


def test_written_functions_become_generated_code_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "7.functions.tsv").write_text(
        "7f0000001010\t20\tkernel\nnonsense\n7f0000001100\t30\t_ZN8__main__4stepB2v1Ev\n"
    )
    none = RawJit(
        np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64), Text.of([]), Text.of([])
    )
    log: Any = _Log(_Header(7), none)
    found = with_functions(cast(RawLog, log), tmp_path / "7.1.slog").jit
    assert found.name.tolist() == ["kernel", "__main__::step()"]
    assert found.start.tolist() == [0x7F0000001010, 0x7F0000001100]
    assert found.size.tolist() == [0x20, 0x30]
