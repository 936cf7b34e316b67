"""Slices given as two events: B and E of a thread, b and e of something asynchronous."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sonde.ingest.kineto import reader as kineto
from sonde.ingest.kineto import stacks as kineto_stacks
from sonde.ingest.kineto.trace_library import NativeTrace
from sonde.store.recording import Recording


def read(events: list[dict[str, Any]]) -> Recording:
    with NativeTrace(json.dumps(events).encode()) as trace:
        return kineto.recording_of(trace, None)


def half(phase: str, us: float, name: str = "", **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": us, **more}


def losses(recording: Recording) -> dict[str, int]:
    table = recording.table("losses")
    return dict(zip(table.text("cause").tolist(), table.array("count").tolist(), strict=True))  # type: ignore[arg-type]


def test_begin_and_end_are_one_call_and_nest() -> None:
    found = read([half("B", 1, "outer"), half("B", 2.5, "inner"), half("E", 5), half("E", 9)])
    ops = found.table("ops")
    assert ops.text("name").tolist() == ["outer", "inner"]
    assert (ops.array("end_ns") - ops.array("start_ns")).tolist() == [8000, 2500]
    assert ops.array("parent").tolist() == [-1, 0]
    assert "unpaired" not in losses(found)


def test_the_order_of_the_file_does_not_matter() -> None:
    found = read([half("E", 5), half("E", 9), half("B", 2, "inner"), half("B", 1, "outer")])
    ops = found.table("ops")
    assert ops.text("name").tolist() == ["outer", "inner"]
    assert ops.array("end_ns").tolist() == [9000, 5000]


def test_threads_do_not_end_each_other_s_calls() -> None:
    found = read([half("B", 1, "a"), half("B", 2, "b", tid=2), half("E", 7), half("E", 4, tid=2)])
    ops = found.table("ops")
    ends = dict(zip(ops.text("name").tolist(), ops.array("end_ns").tolist(), strict=True))
    assert ends == {"a": 7000, "b": 4000}


def test_halves_without_a_partner_are_counted() -> None:
    found = read([half("E", 1), half("B", 2, "open"), half("X", 3, "whole", dur=1)])
    assert losses(found)["unpaired"] == 2
    assert found.table("ops").text("name").tolist() == ["open", "whole"]


def test_asynchronous_slices_are_paired_by_id_and_are_no_calls() -> None:
    io = {"cat": "io"}
    events = [
        half("b", 1, "read", id="0x5", **io),
        half("b", 2, "read", id="0x6", **io),
        half("e", 8, id="0x5", tid=2, **io),
        half("e", 9, id="0x6", **io),
        half("X", 3, "op", dur=1),
    ]
    found = read(events)
    marks = found.table("marks")
    assert marks.text("name").tolist() == ["read", "read"]
    assert marks.array("end_ns").tolist() == [8000, 9000]
    assert found.table("ops").text("name").tolist() == ["op"]
    assert "unsupported_phase" not in losses(found)


def test_phases_that_no_table_holds_are_counted() -> None:
    assert losses(read([half("N", 1, id=1), half("X", 3, "op", dur=1)]))["unsupported_phase"] == 1


def test_cut_stacks_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_stacks, "_STACK_CHARACTERS", 10)
    frames = [half("X", i, f"f{i}.py({i}): f", dur=100 - 2 * i, cat="python_function") for i in range(12)]
    found = read([*frames, half("X", 20, "op", dur=1)])
    assert losses(found)["stacks_cut"] == 1
