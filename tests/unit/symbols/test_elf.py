"""ELF symbols of libraries that this very process has loaded, and files that are none."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from sonde import native
from sonde.symbols import elf
from sonde.symbols.elf import Source


def place_of(function: object) -> tuple[Path, int]:
    """File and file offset of a loaded function, by /proc/self/maps: an independent answer."""
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        low, high = (int(part, 16) for part in fields[0].split("-"))
        if low <= address < high:
            return Path(fields[5]), address - low + int(fields[2], 16)
    raise AssertionError(f"{address:#x} is not mapped")


def test_exported_functions_have_their_names_and_ranges() -> None:
    library = native.tools()
    for name in ("sonde_elf_free", "sonde_elf_resolve", "sonde_demangle"):
        path, offset = place_of(getattr(library, name))
        (found,) = elf.resolve(path, [offset]) or []
        assert found.name == name
        assert found.start == found.address
        assert found.size > 0
        (inside,) = elf.resolve(path, [offset + found.size - 1]) or []
        assert inside.name == name
        (beyond,) = elf.resolve(path, [offset + found.size + 64]) or []
        assert beyond.start != found.start


def test_answers_keep_the_order_of_the_questions() -> None:
    library = native.tools()
    names = ["sonde_demangle", "sonde_elf_free", "sonde_demangle", "sonde_elf_resolve"]
    places = [place_of(getattr(library, name)) for name in names]
    found = elf.resolve(places[0][0], [offset for _, offset in places]) or []
    assert [symbol.name for symbol in found] == names


def test_libc_is_named_without_version_suffixes() -> None:
    libc = ctypes.CDLL(None)
    path, offset = place_of(libc.strlen)
    assert elf.build_id(path)
    path, offset = place_of(libc.malloc)
    (found,) = elf.resolve(path, [offset]) or []
    assert "malloc" in found.name
    assert "@" not in found.name


def test_offsets_outside_code_have_no_symbol() -> None:
    path, _ = place_of(native.tools().sonde_elf_free)
    (found,) = elf.resolve(path, [1 << 40]) or []
    assert found.source is Source.NONE
    assert found.name == ""


def test_cpp_names_are_demangled() -> None:
    assert elf.demangle("_ZN2at4_ops5addmm4callERKNS_6TensorE") == "at::_ops::addmm::call(at::Tensor const&)"
    assert elf.demangle("malloc") == "malloc"
    assert elf.demangle("_Znot_a_name") == "_Znot_a_name"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"text" * 100, b"\x7fELF\x02" + b"\xff" * 2000])
def test_files_that_are_not_elf_give_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    assert elf.resolve(path, [0, 100]) is None
    assert elf.build_id(path) is None


def test_truncated_libraries_do_not_crash(tmp_path: Path) -> None:
    whole = native.agent_path().read_bytes()
    path = tmp_path / "cut.so"
    for size in (64, 1000, 4096, len(whole) // 2, len(whole) - 100):
        path.write_bytes(whole[:size])
        elf.resolve(path, range(0, 1 << 20, 4096))
        elf.build_id(path)
        elf.debug_file(path, None)


def test_damaged_libraries_do_not_crash(tmp_path: Path) -> None:
    whole = bytearray(native.agent_path().read_bytes())
    path = tmp_path / "bad.so"
    header = whole[:64]
    for position in range(16, 64):
        whole[:64] = header
        whole[position] ^= 0xFF
        path.write_bytes(whole)
        elf.resolve(path, range(0, 1 << 18, 4096))
