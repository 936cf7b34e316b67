"""The resolver and its cache: named once, kept by build id, honest about files that changed."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from sonde import native
from sonde.symbols import elf
from sonde.symbols.cache import Resolved, SymbolCache
from sonde.symbols.lines import parse
from sonde.symbols.resolver import Resolver
from tests.unit.symbols.test_elf import place_of


def test_a_second_resolver_answers_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, offset = place_of(native.tools().sonde_demangle)
    build = elf.build_id(path)
    assert Resolver(tmp_path).resolve(str(path), build, [offset])[0].name == "sonde_demangle"
    monkeypatch.setattr(elf, "resolve", lambda *_: pytest.fail("the file was read again"))
    assert Resolver(tmp_path).resolve(str(path), build, [offset])[0].name == "sonde_demangle"


def test_a_library_that_changed_is_not_believed(tmp_path: Path) -> None:
    path, offset = place_of(native.tools().sonde_demangle)
    resolver = Resolver(tmp_path)
    assert resolver.resolve(str(path), "0" * 40, [offset])[0].name == ""
    assert "build id" in resolver.missing[str(path)]
    assert resolver.resolve("/gone/lib.so", None, [1])[0].name == ""
    assert resolver.missing["/gone/lib.so"] == "the file is gone"


def test_names_of_a_library_that_is_gone_come_from_the_cache(tmp_path: Path) -> None:
    SymbolCache(tmp_path, "abc").add({16: Resolved(16, 0, "f(int)", (("g", "a.c", 3),))})
    found = Resolver(tmp_path).resolve("/gone/lib.so", "abc", [16, 17])
    assert found[0] == Resolved(16, 0, "f(int)", (("g", "a.c", 3),))
    assert found[1].name == ""


def test_damaged_cache_lines_are_skipped(tmp_path: Path) -> None:
    cache = SymbolCache(tmp_path, "abc")
    cache.add({1: Resolved(1, 0, "one")})
    (file,) = tmp_path.rglob("*.jsonl")
    with file.open("a") as stream:
        stream.write('[2,2,0,"tw')
    SymbolCache(tmp_path, "abc").add({3: Resolved(3, 0, "three")})
    known = SymbolCache(tmp_path, "abc").known()
    assert known.get(1) == Resolved(1, 0, "one")
    assert known.get(2) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = SymbolCache(blocked, "abc")
    cache.add({1: Resolved(1, 0, "one")})
    assert cache.known().get(1) == Resolved(1, 0, "one")


def test_addr2line_output_with_inlined_functions_is_understood() -> None:
    text = (
        "0x0000000000001139\ninner\n/src/a.c:3\nouter(int)\n/src/b.c:9 (discriminator 2)\n"
        "0x0000000000002000\n??\n??:0\n0x0000000000003000\nlast\n??:?\n"
    )
    first, second, third = parse(text, 3) or ()
    assert [(f.function, f.file, f.line) for f in first] == [
        ("inner", "/src/a.c", 3),
        ("outer(int)", "/src/b.c", 9),
    ]
    assert second == ()
    assert [(f.function, f.file, f.line) for f in third] == [("last", None, -1)]
    assert parse("nonsense", 2) is None


@pytest.mark.torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_libtorch_is_named_within_two_seconds_and_from_the_cache_in_a_fifth(tmp_path: Path) -> None:
    spec = find_spec("torch")
    assert spec is not None
    path = Path(str(spec.origin)).parent / "lib/libtorch_cpu.so"
    offsets = list(range(0x1100000, 0x6000000, 0x8000))
    build = elf.build_id(path)
    begin = time.process_time()
    first = Resolver(tmp_path).resolve(str(path), build, offsets)
    cold_s = time.process_time() - begin
    begin = time.process_time()
    again = Resolver(tmp_path).resolve(str(path), build, offsets)
    warm_s = time.process_time() - begin
    assert first == again
    assert sum(bool(r.name) for r in first) > 0.95 * len(offsets)
    assert cold_s < 2.0
    assert warm_s < 0.2
