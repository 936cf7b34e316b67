"""What the fuzz campaign found, each in its shortest form."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import duckdb
import pytest

from sonde.analyze.primitives import descriptors
from sonde.errors import InputError
from sonde.experiment.design.arm import Measurement
from sonde.experiment.proving.journal import Entry, Journal
from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.kineto.trace_library import NativeTrace
from sonde.ingest.verbose import onednn_log
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.unit.store import slog
from tests.unit.store.slog import Slog
from tests.unit.store.test_checks import without_checksums, write


def test_sizes_of_thousands_of_digits_have_no_cost(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        f"MKL_VERBOSE SGEMM(N,N,{'9' * 5000},2,3) 1us CNR:OFF\nMKL_VERBOSE SGEMM(N,N,²,2,3) 1us\n"
    )
    assert len(onednn_log.read(path).table("primitives")) == 2


def test_a_journal_of_other_arms_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps(asdict(Entry("a", 0, "other", Measurement(1.0, 1, 0, ""), "key"))) + "\n")
    with pytest.raises(InputError, match="another command or setting"):
        Journal(path).of("a", 0, {"base": "key"})


def test_a_library_path_with_a_zero_byte_is_no_path(tmp_path: Path) -> None:
    path = tmp_path / "42.1000.slog"
    log = Slog().base(1000).header().record(slog.MAPPING, 1000, 1, 2, 0, "/bin\0/prog", "ab12")
    path.write_bytes(log.data())
    assert read_raw_log(path).mappings.path.tolist() == ["/bin\ufffd/prog"]


def test_a_node_number_beyond_all_others_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "42.1000.slog"
    log = Slog().base(1000).header().record(slog.NODE, (1 << 26) - 1, 0, 7, 0).sample(0, 1, (1 << 26) - 1)
    path.write_bytes(log.data())
    found = read_raw_log(path)
    assert found.samples.native.tolist() == [0]
    assert "unknown_stack" in found.losses.cause.tolist()


def test_a_parquet_column_whose_name_is_no_text_is_one_line(tmp_path: Path) -> None:
    from tests.unit.store import recordings

    folder = write(tmp_path, recordings.tables())
    without_checksums(folder)
    file = folder / "threads" / "all.parquet"
    duckdb.sql(f"COPY (SELECT *, 1 AS zzzz FROM '{file}') TO '{tmp_path}/x.parquet'")
    file.write_bytes((tmp_path / "x.parquet").read_bytes().replace(b"zzzz", b"\xff\xfe\xff\xfe"))
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(InputError, match="table threads"):
        open_recording(folder).table("threads")


def trace_of(events: list[dict[str, object]], **facts: object) -> Recording:
    with NativeTrace(json.dumps({"traceEvents": events, **facts}).encode()) as trace:
        return kineto.recording_of(trace, None)


def test_python_frames_without_a_name_are_called_so() -> None:
    """They took the name of whatever came last in the file; without any name, reading it failed."""
    place = {"ph": "X", "pid": 1, "tid": 1}
    frames: list[dict[str, object]] = [
        {**place, "cat": "python_function", "ts": 0, "dur": 90},
        {**place, "cat": "python_function", "ts": 1, "dur": 80},
        {**place, "cat": "cpu_op", "ts": 2, "dur": 70},
    ]
    assert trace_of(frames).table("ops").text("stack")[2] == "(no name);(no name)"
    named = [*frames, {**place, "cat": "cpu_op", "name": "aten::mm", "ts": 3, "dur": 9}]
    assert trace_of(named).table("ops").text("stack")[3] == "(no name);(no name)"


def test_a_time_that_no_clock_shows_is_a_loss() -> None:
    event: dict[str, object] = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "dur": 0.5}
    base = 1_700_000_000_000_000_000
    found = trace_of(
        [{**event, "ts": 1}, {**event, "ts": 2}, {**event, "ts": 9e15}], baseTimeNanoseconds=base
    )
    assert found.table("ops").array("start_ns").tolist() == [base + 1000, base + 2000]
    assert found.table("losses").text("cause").tolist() == ["time_out_of_range"]
    all_late = trace_of([{**event, "ts": 3e15 + n} for n in range(3)], baseTimeNanoseconds=base)
    assert len(all_late.table("ops")) == 0


def test_a_layout_with_a_block_of_nothing_has_a_size() -> None:
    (found,) = descriptors.parse("wei:bf16:ap:blocked:BA16a0b4a::f0")
    assert found is not None
    assert found.size_bytes([64, 3]) == 64 * 3 * 2
    (long,) = descriptors.parse(f"wei:bf16:ap:blocked:BA{'9' * 5000}a::f0")
    assert long is not None
    assert long.block(0) < 10**6
