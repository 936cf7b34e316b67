"""Marks logs → tables."""

from __future__ import annotations

import json
from pathlib import Path

from sonde.record import marks
from sonde.record.framework import framework_tables


def _write(raw: Path, rows: list[dict[str, object]], pid: int = 77) -> None:
    raw.mkdir(exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (raw / f"{pid}.marks.jsonl").write_bytes(text.encode() + b"\0" * 100)


def _phase(start: int, end: int, pointer: int, tid: int = 77) -> dict[str, object]:
    return {
        "kind": "phase",
        "name": "forward",
        "number": -1,
        "start_ns": start,
        "end_ns": end,
        "tid": tid,
        "pointer": pointer,
    }


def test_inference_steps_follow_the_module_that_takes_most_time(tmp_path: Path) -> None:
    calls = [_phase(0, 5, 9)]  # a preprocessing module, once
    for i in range(3):
        calls += [_phase(100 * i + 10, 100 * i + 60, 1), _phase(100 * i + 61, 100 * i + 70, 2)]
    _write(tmp_path, calls)
    log = marks.read(tmp_path / "77.marks.jsonl")
    steps = [(r["number"], r["start_ns"], r["end_ns"]) for r in log.marks if r["kind"] == "step"]
    assert steps == [(0, 10, 70), (1, 110, 170), (2, 210, 270)]


def test_a_program_that_trains_has_no_inference_steps(tmp_path: Path) -> None:
    step = {"kind": "step", "name": "train", "number": 0, "start_ns": 0, "end_ns": 9, "tid": 77}
    _write(tmp_path, [_phase(0, 5, 1), step])
    log = marks.read(tmp_path / "77.marks.jsonl")
    assert [r["name"] for r in log.marks if r["kind"] == "step"] == ["train"]


def test_what_the_program_calls_a_step_wins(tmp_path: Path) -> None:
    rows = [
        {"kind": "step", "name": name, "number": i, "start_ns": i, "end_ns": i + 1, "tid": 77}
        for i, name in enumerate(["train", "user", "train", "user"])
    ]
    _write(tmp_path, rows)
    log = marks.read(tmp_path / "77.marks.jsonl")
    assert [(r["name"], r["number"]) for r in log.marks] == [("user", 0), ("user", 1)]


def test_a_window_open_at_death_is_a_loss_and_bad_lines_are_counted(tmp_path: Path) -> None:
    opened = {"kind": "window", "name": "open", "number": 0, "start_ns": 5, "end_ns": 5, "tid": 77}
    _write(tmp_path, [opened])
    with (tmp_path / "77.marks.jsonl").open("r+b") as file:
        text = file.read().rstrip(b"\0")
        file.seek(0)
        file.write(text + b"no json\n")
    found = framework_tables(tmp_path)
    assert sorted(found.tables["losses"].text("cause").tolist()) == ["bad_mark", "window_unfinished"]
    assert len(found.tables["marks"]) == 0


def test_ranks_and_threads_join_the_agents_rosters(tmp_path: Path) -> None:
    from sonde.store import build

    process = {
        "kind": "process",
        "rank": 3,
        "world_size": 8,
        "forked": False,
        "python": "3.12.1",
    }
    _write(tmp_path, [process, _phase(0, 5, 1, tid=80), _phase(7, 8, 1, tid=81)], pid=80)
    processes = build.table("processes", process=[0, 1], pid=[50, 80], role=["main", "child"])
    threads = build.table("threads", thread=[0, 4], process=[0, 1], tid=[50, 80])
    found = framework_tables(tmp_path, processes, threads).tables
    assert found["processes"].array("rank").tolist() == [-1, 3]
    assert found["processes"].text("role").tolist() == ["main", "rank"]
    assert found["threads"].array("tid").tolist() == [50, 80, 81]
    phases = found["marks"].take(found["marks"].text("kind").equals("phase"))
    assert phases.array("thread").tolist() == [4, 5]
    assert phases.array("process").tolist() == [1, 1]
