"""Symbols, lines and inlined functions of a library built here, checked against nm and the source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sonde.symbols import elf
from sonde.symbols.resolver import Resolver

SOURCE = """\
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int x) {
  return rand() + x; /* inner line */
}
namespace outer_space {
template <class T> __attribute__((noinline)) int outer(T x) {
  return inner(x) * 3; /* outer line */
}
}
extern "C" int entry(int x) { return outer_space::outer(x) + 1; }
"""
TOOLS = ("g++", "nm", "objcopy", "strip", "objdump")

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("symbols")
    source = folder / "work.cpp"
    source.write_text(SOURCE)
    built = folder / "libwork.so"
    flags = ["-g", "-O2", "-fPIC", "-shared", "-Wl,--build-id", "-fcf-protection=none"]
    subprocess.run(["g++", *flags, str(source), "-o", str(built)], check=True)
    return built


def return_address_of_rand(library: Path) -> int:
    """Address after the call of rand() inside outer<int>, by objdump."""
    text = subprocess.run(["objdump", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    lines = text.splitlines()
    (at,) = (i for i, line in enumerate(lines) if "call" in line and "<rand" in line)
    return int(lines[at + 1].split(":")[0], 16)


def test_lines_and_inlined_functions_come_from_dwarf(library: Path, tmp_path: Path) -> None:
    if not any(shutil.which(tool) for tool in ("llvm-addr2line", "llvm-symbolizer", "addr2line")):
        pytest.skip("needs llvm-symbolizer or addr2line")
    address = return_address_of_rand(library) - 1
    (found,) = Resolver(tmp_path).resolve(str(library), elf.build_id(library), [address])
    assert found.name == "int outer_space::outer<int>(int)"
    (inner, inner_file, inner_line), (_, _, outer_line) = found.frames
    assert inner.startswith("inner")
    assert Path(inner_file or "").name == "work.cpp"
    assert inner_line == SOURCE.splitlines().index("  return rand() + x; /* inner line */") + 1
    assert outer_line == SOURCE.splitlines().index("  return inner(x) * 3; /* outer line */") + 1


def test_a_stripped_library_is_named_by_its_separate_debug_file(library: Path, tmp_path: Path) -> None:
    address = return_address_of_rand(library) - 1
    stripped, debug = tmp_path / "libwork.so", tmp_path / "libwork.so.debug"
    shutil.copy(library, stripped)
    subprocess.run(["objcopy", "--only-keep-debug", str(library), str(debug)], check=True)
    subprocess.run(["strip", "--strip-all", str(stripped)], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", str(stripped)], check=True, cwd=tmp_path)
    build = elf.build_id(stripped)
    assert elf.debug_file(stripped, build) == debug
    (found,) = Resolver(tmp_path / "a").resolve(str(stripped), build, [address])
    assert found.name == "int outer_space::outer<int>(int)"
    debug.write_bytes(b"something else")
    assert elf.debug_file(stripped, build) is None
    (gone,) = Resolver(tmp_path / "b").resolve(str(stripped), build, [address])
    assert gone.name == "int outer_space::outer<int>(int)"  # weak templates stay in .dynsym


def test_stubs_are_named_after_what_they_jump_to(library: Path) -> None:
    text = subprocess.run(
        ["objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", str(library)],
        capture_output=True,
        text=True,
    ).stdout
    (address,) = (int(line.split()[0], 16) for line in text.splitlines() if line.endswith("<rand@plt>:"))
    (found,) = elf.resolve(library, [address]) or []
    assert (found.name, found.source) == ("rand@plt", elf.Source.PLT)


def test_every_function_that_nm_lists_is_found_at_both_ends(library: Path) -> None:
    text = subprocess.run(["nm", "-S", "-C", str(library)], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in text.splitlines()]
    functions = {r[3]: (int(r[0], 16), int(r[1], 16)) for r in rows if len(r) == 4 and r[2] in "TtWw"}
    assert {"entry", "int outer_space::outer<int>(int)"} <= set(functions)
    for name, (start, size) in functions.items():
        first, last = elf.resolve(library, [start, start + size - 1]) or []
        assert first.name == last.name == name
