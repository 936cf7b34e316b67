"""Stripped libraries: bounds from unwind tables with the exported name before them, debug files where they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sonde.symbols import elf
from sonde.symbols.resolver import Resolver

SOURCE = """
__attribute__((noinline)) static int hidden(int x) { volatile int y = x; return y * 3; }
__attribute__((noinline)) int exported_first(int x) { volatile int y = x; return y + 1; }
__attribute__((noinline, visibility("hidden"))) int inner(int x) { volatile int y = x; return y * 7; }
int exported_last(int x) { return hidden(x) + inner(x) + exported_first(x); }
"""
pytestmark = pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("gcc", "strip", "objcopy", "nm")), reason="needs gcc and binutils"
)


def built(folder: Path) -> tuple[Path, Path, int]:
    """A stripped library, its debug file, and the file offset of `inner`, which is not exported."""
    source, whole, bare = folder / "l.c", folder / "whole.so", folder / "libbare.so"
    source.write_text(SOURCE)
    flags = ["-O1", "-g", "-fPIC", "-shared", "-fno-toplevel-reorder", "-Wl,--build-id"]
    subprocess.run(["gcc", *flags, source, "-o", whole], check=True)
    symbols = subprocess.run(["nm", whole], capture_output=True, text=True, check=True).stdout
    [address] = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" inner")]
    subprocess.run(["strip", "-o", bare, whole], check=True)
    debug = folder / "debuginfo"
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    return bare, debug, address + 4  # text is mapped at its own offset in so small a file


def test_a_function_that_is_not_exported_is_placed_after_the_one_before_it(tmp_path: Path) -> None:
    bare, _, offset = built(tmp_path)
    [found] = Resolver(use_cache=False).resolve(str(bare), None, [offset])
    assert found.name == ""
    assert found.near == "exported_first"
    assert found.start == offset - 4


def test_what_debuginfod_has_fetched_gives_names_and_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, debug, offset = built(tmp_path)
    build = elf.build_id(bare)
    assert build is not None
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "fetched"))
    assert elf.debug_file(bare, build) is None
    (tmp_path / "fetched" / build).mkdir(parents=True)
    debug.rename(tmp_path / "fetched" / build / "debuginfo")
    [found] = Resolver(use_cache=False).resolve(str(bare), build, [offset])
    assert found.name == "inner"
    assert found.near == ""
    if shutil.which("addr2line") or shutil.which("llvm-symbolizer"):
        assert [(Path(file or "").name, line) for _, file, line in found.frames] == [("l.c", 4)]
