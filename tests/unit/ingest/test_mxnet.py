"""MXNet's trace and statistics: two reports of one run must agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.analyze.ops.table import op_table
from sonde.errors import InputError
from sonde.ingest import open_any
from sonde.ingest.mxnet import table as mxnet_table
from sonde.ingest.mxnet import trace as mxnet_trace
from tests.environments import data_folder

DATA = (data_folder() or Path("/nonexistent")) / "mxnet"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real traces (SONDE_DATA)")


@needs_data
@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_the_trace_agrees_with_mxnets_own_statistics(name: str) -> None:
    table = op_table(mxnet_trace.read(DATA / f"{name}_trace.json.gz").table("ops"))
    ours = {
        table.text("name")[i]: (int(table.array("calls")[i]), table.array("total_ns")[i] / 1e6)
        for i in range(len(table))
    }
    rows = mxnet_table.aggregate_rows(DATA / f"{name}_trace_agg.json.gz")
    theirs = [row for row in rows if row.group in ("operator", "MXNET_C_API") and "C API" not in row.name]
    assert len(theirs) > 5
    assert {row.group for row in theirs} == {"operator", "MXNET_C_API"}
    for row in theirs:
        calls, total_ms = ours[row.name]
        assert calls == row.count
        assert total_ms == pytest.approx(row.total, rel=2e-3, abs=0.02)


@needs_data
@pytest.mark.parametrize("name", ["cnn", "cnn_hybrid", "lstm", "mlp", "resnet18_v1"])
def test_the_printed_table_agrees_with_the_json(name: str) -> None:
    printed = {(r.group, r.name): r for r in mxnet_table.aggregate_rows(DATA / f"{name}_trace_table.txt")}
    given = {(r.group, r.name): r for r in mxnet_table.aggregate_rows(DATA / f"{name}_trace_agg.json.gz")}
    assert printed.keys() == given.keys()
    for key, row in given.items():
        assert printed[key].count == row.count
        assert printed[key].total == pytest.approx(row.total, rel=1e-3, abs=1e-3)


@needs_data
def test_both_are_recognised_by_content() -> None:
    assert open_any(DATA / "cnn_trace.json.gz").meta.source == "mxnet"
    assert open_any(DATA / "cnn_trace_agg.json.gz").meta.source == "mxnet-aggregate"
    assert open_any(DATA / "cnn_trace_table.txt").meta.source == "mxnet-aggregate"


def test_begin_without_end_is_counted_and_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(
        '{"traceEvents": [{"ph": "M", "args": {"name": "cpu pinned/"}, "pid": 0, "name": "process_name"},'
        '{"name": "A", "cat": "operator", "ph": "B", "ts": 5, "pid": 0, "tid": 17710305560941257705},'
        '{"name": "B", "cat": "operator", "ph": "B", "ts": 6, "pid": 0, "tid": 17710305560941257705},'
        '{"name": "B", "cat": "operator", "ph": "E", "ts": 9, "pid": 0, "tid": 17710305560941257705}]}'
    )
    found = mxnet_trace.read(path)
    assert found.table("ops").text("name").tolist() == ["B"]
    assert found.table("losses").array("count").tolist() == [1]
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match="not a complete MXNet trace"):
        mxnet_trace.read(path)
