"""Every format tells the same story: equal totals, equal stacks."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import InputError
from sonde.export import FORMATS
from sonde.export.profile import profile_of
from sonde.ingest import open_any
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.fixtures.synthetic import training_run
from tests.unit.export import firefox_types, wire
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
        (0, 1, b"step 0"), (0, 1, b"aten::linear"), (1_000_000, 1, b"aten::addmm"), (4_000_000, 2, b""),
        (10_000_000, 2, b""), (50_000_000, 2, b""),
    ]  # fmt: skip


def test_chrome_trace_has_exact_times_and_all_samples() -> None:
    document = json.loads(export("chrome"), parse_float=str)
    calls = {e["name"]: (e["ts"], e["dur"]) for e in document["traceEvents"] if e.get("cat") == "cpu_op"}
    assert calls == {"aten::linear": ("0.000", "10000.000"), "aten::addmm": ("1000.000", "3000.000")}
    assert sum(s["weight"] for s in document["samples"]) == ON_CPU_NS
    assert {s["sf"] for s in document["samples"]} <= set(document["stackFrames"])


def test_firefox_profile_is_well_formed_and_complete() -> None:
    document = json.loads(export("firefox"))
    firefox_types.check(document)
    main, worker = document["threads"]
    strings = document["shared"]["stringArray"]
    assert main["isMainThread"]
    assert not worker["isMainThread"]
    assert main["samples"]["threadCPUDelta"] == [20_000_000, 10_000_000, 10_000_000]
    assert worker["samples"]["length"] == 0  # it only waited
    functions = [strings[n] for n in main["funcTable"]["name"]]
    leaf = [
        functions[main["frameTable"]["func"][main["stackTable"]["frame"][s]]]
        for s in main["samples"]["stack"]
    ]
    assert leaf == ["a", "a", "[jit] b"]
    marked = [strings[n] for n in main["markers"]["name"]]
    assert marked == ["step 0", "aten::linear", "aten::addmm"]
    assert main["markers"]["endTime"] == [50.0, 10.0, 4.0]
    layers = [document["meta"]["categories"][c]["name"] for c in main["frameTable"]["category"]]
    assert layers == ["python", "native", "jit"]


def test_firefox_profile_of_a_training_run_and_of_nothing() -> None:
    firefox_types.check(json.loads(export("firefox", training_run())))
    firefox_types.check(json.loads(export("firefox", Recording(Meta()))))


def totals_ns(name: str, data: bytes) -> int:
    """On-CPU time as a reader of the format adds it up."""
    if name == "collapsed":
        return sum(int(line.rpartition(" ")[2]) for line in data.decode().splitlines())
    if name == "pprof":
        samples = [wire.parse(raw) for raw in wire.parse(gzip.decompress(data))[2] if isinstance(raw, bytes)]
        return sum(wire.numbers(sample[2][0])[1] for sample in samples)
    if name == "perfetto":
        packets = [wire.parse(p) for p in wire.parse(data)[1] if isinstance(p, bytes)]
        return sum(
            int(wire.parse(p[66][0])[6][0]) for p in packets if 66 in p and isinstance(p[66][0], bytes)
        )
    if name == "svg":
        return _picture_total(data)
    if name in ("csv", "parquet"):
        return _table_total(name, data)
    document = json.loads(data)
    if name == "speedscope":
        return sum(sum(p["weights"]) for p in document["profiles"])
    if name == "chrome":
        return sum(s["weight"] for s in document["samples"])
    if name == "firefox":
        by_weight = sum(round(w * 1e6) for t in document["threads"] for w in t["samples"]["weight"])
        assert by_weight == sum(sum(t["samples"]["threadCPUDelta"]) for t in document["threads"])
        return by_weight
    samples = document["tables"]["samples"]
    rows = zip(samples["state"], samples["stack"], samples["weight_ns"], strict=True)
    return sum(weight for state, stack, weight in rows if state != "waiting" and stack >= 0)


def _picture_total(data: bytes) -> int:
    """The frames of the first row, by their own numbers and, to a pixel, by their widths."""
    from xml.etree import ElementTree

    picture = ElementTree.fromstring(data)
    boxes = [(group, group.find("{*}rect")) for group in picture.findall("{*}g")]
    rows = [(int(g.attrib["data-ns"]), r.attrib) for g, r in boxes if r is not None]
    top = min(float(rect["y"]) for _, rect in rows)
    first = [(ns, float(rect["width"])) for ns, rect in rows if float(rect["y"]) == top]
    left_out = int(picture.attrib["data-left-out-ns"])
    total = sum(ns for ns, _ in first) + left_out
    assert total == int(picture.attrib["data-total-ns"])
    drawn = 1200 * (total - left_out) / total
    assert sum(width for _, width in first) == pytest.approx(drawn, abs=len(first))
    return total


def _table_total(name: str, data: bytes) -> int:
    import csv
    import tempfile

    import duckdb

    with zipfile.ZipFile(io.BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
        if name == "csv":
            rows = csv.DictReader(io.StringIO(archive.read("samples.csv").decode()))
            return sum(int(r["weight_ns"]) for r in rows if r["state"] != "waiting" and int(r["stack"]) >= 0)
        archive.extractall(folder)
        query = f"""SELECT sum(weight_ns) FROM '{folder}/samples/*.parquet'
                    WHERE state <> 'waiting' AND stack >= 0"""
        (found,) = duckdb.sql(query).fetchall()
        return int(found[0])


@pytest.mark.parametrize("name", list(FORMATS))
def test_totals_are_equal_across_formats(name: str) -> None:
    recording = training_run()
    assert totals_ns(name, export(name, recording)) == int(profile_of(recording).weight_ns.sum())
    assert totals_ns(name, export(name)) == ON_CPU_NS


@pytest.mark.parametrize("name", ["collapsed", "speedscope"])
@pytest.mark.parametrize("make", [recordings.recording, training_run])
def test_export_import_export_is_identical(name: str, make: object, tmp_path: Path) -> None:
    assert callable(make)
    first = export(name, make())
    path = tmp_path / f"x{FORMATS[name].suffix}"
    path.write_bytes(first)
    assert export(name, open_any(path)) == first


def test_a_trace_survives_export_and_import(tmp_path: Path) -> None:
    """Calls, steps and threads of a torch trace: what leaves as Chrome JSON comes back the same."""
    first, second = tmp_path / "1" / "t.json", tmp_path / "2" / "t.json"
    first.parent.mkdir()
    second.parent.mkdir()
    first.write_bytes(export("chrome", training_run()))
    once = export("chrome", open_any(first))
    second.write_bytes(once)
    again = open_any(second)
    assert export("chrome", again) == once
    calls = training_run().table("ops")
    assert np.isin(calls.array("start_ns"), again.table("ops").array("start_ns")).all()


def test_deep_stacks_do_not_fill_the_memory() -> None:
    """3,000 callers above each other, all sampled: texts are written one by one."""
    import tracemalloc

    from sonde.export.collapsed import collapsed_lines

    depth = 3_000
    tables = {
        "frames": build.table("frames", frame=[0], layer=["native"], name=["f" * 50]),
        "stacks": build.table(
            "stacks", stack=np.arange(depth), parent=np.arange(depth) - 1,
            frame=np.zeros(depth, int), depth=np.arange(depth) + 1,
        ),
        "samples": build.table(
            "samples", depth, time_ns=np.arange(depth), thread=np.zeros(depth, int), stack=np.arange(depth),
            state=["running"] * depth, weight_ns=np.ones(depth, int),
        ),
    }  # fmt: skip
    tracemalloc.start()
    written = sum(len(line) for line in collapsed_lines(profile_of(Recording(Meta(), tables))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert written > 200_000_000
    assert peak < 20_000_000


def calls(parent: list[int], start_ns: list[int]) -> Recording:
    count = len(parent)
    columns = {"thread": [0] * count, "end_ns": [100] * count, "name": [f"n{i}" for i in range(count)]}
    ops = build.table("ops", count, op=range(count), parent=parent, start_ns=start_ns, **columns)
    return Recording(Meta(), {"ops": ops})


def test_a_call_that_begins_before_the_one_around_it_still_has_its_path() -> None:
    """Rows are gone through by their time; a damaged table names a parent that comes later."""
    profile = profile_of(calls(parent=[1, -1, 0], start_ns=[10, 50, 20]))
    paths = [[profile.labels[frame] for frame in profile.path(int(node))] for node in profile.stack]
    assert paths == [["[op] n1", "[op] n0"], ["[op] n1", "[op] n0", "[op] n2"], ["[op] n1"]]


def test_calls_in_a_circle_are_refused() -> None:
    with pytest.raises(InputError, match="circle"):
        profile_of(calls(parent=[1, 0], start_ns=[10, 50]))


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
    if name in ("speedscope", "chrome", "firefox", "json"):
        json.loads(data)
