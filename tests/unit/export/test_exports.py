"""Every format tells the same story: equal totals, equal stacks."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile

import pytest

from sonde.export import FORMATS
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.unit.export import wire
from tests.unit.store import recordings

ON_CPU_NS = 40_000_000  # of the known recording; its 5 ms of waiting are not CPU time


def export(name: str, recording: Recording | None = None) -> bytes:
    stream = io.BytesIO()
    FORMATS[name].writer()(recording or recordings.recording(), stream)
    return stream.getvalue()


def test_collapsed_lines_are_root_first_with_nanoseconds() -> None:
    assert export("collapsed").decode().splitlines() == [
        "main (a.py:3);a 30000000",
        "main (a.py:3);[jit] b 10000000",
    ]


def test_collapsed_names_cannot_break_a_line() -> None:
    tables = recordings.tables()
    evil = build.table("frames", frame=[0, 1, 2], layer=["native"] * 3, name=["a;b\nc", "x 7", ""])
    lines = export("collapsed", Recording(Meta(), {**tables, "frames": evil})).decode().splitlines()
    assert lines == ["a:b c;x 7 30000000", "a:b c;unknown 10000000"]


def test_places_of_one_native_function_are_one_collapsed_line() -> None:
    tables = recordings.tables()
    alike = build.table(
        "frames", frame=[0, 1, 2], layer=["native"] * 3, name=["main", "f", "f"], line=[1, 3, 4]
    )
    lines = export("collapsed", Recording(Meta(), {**tables, "frames": alike})).decode().splitlines()
    assert lines == ["main;f 40000000"]


def test_speedscope_totals_and_order() -> None:
    document = json.loads(export("speedscope"))
    (profile,) = document["profiles"]
    assert sum(profile["weights"]) == profile["endValue"] == ON_CPU_NS
    names = [f["name"] for f in document["shared"]["frames"]]
    assert [[names[i] for i in s] for s in profile["samples"]] == [
        ["main (a.py:3)", "a"], ["main (a.py:3)", "a"], ["main (a.py:3)", "[jit] b"],
    ]  # fmt: skip


def test_pprof_totals_and_stacks() -> None:
    profile = wire.parse(gzip.decompress(export("pprof")))
    strings = [s.decode() for s in profile[6] if isinstance(s, bytes)]
    assert strings[0] == ""
    functions = {}
    for raw in profile[5]:
        assert isinstance(raw, bytes)
        function = wire.parse(raw)
        functions[function[1][0]] = strings[int(function[2][0])]
    seen = {}
    for raw in profile[2]:
        assert isinstance(raw, bytes)
        sample = wire.parse(raw)
        stack = tuple(functions[i] for i in wire.numbers(sample[1][0]))
        seen[stack] = tuple(wire.numbers(sample[2][0]))
    assert seen == {("a", "main (a.py:3)"): (2, 30_000_000), ("[jit] b", "main (a.py:3)"): (1, 10_000_000)}


def test_perfetto_samples_slices_and_stacks() -> None:
    packets = [wire.parse(p) for p in wire.parse(export("perfetto"))[1] if isinstance(p, bytes)]
    weights = [wire.parse(p[66][0])[6][0] for p in packets if 66 in p and isinstance(p[66][0], bytes)]
    assert sum(int(w) for w in weights if isinstance(w, int)) == ON_CPU_NS
    events = [(p[8][0], wire.parse(p[11][0])) for p in packets if 11 in p and isinstance(p[11][0], bytes)]
    kinds = [(time, e[9][0], e.get(23, [b""])[0]) for time, e in events]
    assert kinds == [
        (0, 1, b"aten::linear"), (1_000_000, 1, b"aten::addmm"), (4_000_000, 2, b""), (10_000_000, 2, b""),
    ]  # fmt: skip


def test_chrome_trace_has_exact_times_and_all_samples() -> None:
    document = json.loads(export("chrome"), parse_float=str)
    calls = {e["name"]: (e["ts"], e["dur"]) for e in document["traceEvents"] if e.get("cat") == "cpu_op"}
    assert calls == {"aten::linear": ("0.000", "10000.000"), "aten::addmm": ("1000.000", "3000.000")}
    assert sum(s["weight"] for s in document["samples"]) == ON_CPU_NS
    assert {s["sf"] for s in document["samples"]} <= set(document["stackFrames"])


def test_svg_is_xml_and_shows_shares() -> None:
    from xml.etree import ElementTree

    text = export("svg").decode()
    ElementTree.fromstring(text)
    assert re.search(r"a — 30.0 ms, 75.0 % of on-CPU time", text)


def test_tables_as_csv_parquet_and_json() -> None:
    with zipfile.ZipFile(io.BytesIO(export("csv"))) as archive:
        rows = archive.read("losses.csv").decode().splitlines()
    assert rows[1].startswith("0,ring_full,3,samples")
    with zipfile.ZipFile(io.BytesIO(export("parquet"))) as archive:
        assert "samples/p41-0.parquet" in archive.namelist()
    tables = json.loads(export("json"))["tables"]
    assert tables["samples"]["weight_ns"] == [20_000_000, 10_000_000, 10_000_000, 5_000_000]
    assert tables["ops"]["flops"] == [None, None]


def test_trace_without_samples_gives_calls_with_self_time() -> None:
    tables = {k: v for k, v in recordings.tables().items() if k not in ("samples", "stacks", "frames")}
    lines = export("collapsed", Recording(Meta(), tables)).decode().splitlines()
    assert lines == ["[op] aten::linear 7000000", "[op] aten::linear;[op] aten::addmm 3000000"]


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_takes_an_empty_recording(name: str) -> None:
    data = export(name, Recording(Meta()))
    assert isinstance(data, bytes)
    if name in ("speedscope", "chrome", "json"):
        json.loads(data)
