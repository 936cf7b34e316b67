"""Marks logs → tables."""

from __future__ import annotations

import json
from pathlib import Path

from sonde.ingest.observers import events as events_file
from sonde.record.frameworks.collect import framework_tables
from sonde.record.inside.events import (
    BACKWARD,
    CHUNK_BYTES,
    COMPILED,
    FORWARD,
    FORWARD_WITHOUT_GRAD,
    RECORD_BYTES,
    TRAIN_STEP,
    EventLog,
)

Event = tuple[int, int, int, int, int, int]  # tid, code, start, end, a, b


def _write(raw: Path, rows: list[dict[str, object]], events: list[Event], pid: int = 77) -> None:
    raw.mkdir(exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (raw / f"{pid}.marks.jsonl").write_bytes(text.encode() + b"\0" * 100)
    log = EventLog(str(raw / f"{pid}.events.bin"))
    writers = {tid: log.writer(tid) for tid in {event[0] for event in events}}
    for tid, *values in events:
        writers[tid](*values)
    log.close()


def _steps(raw: Path) -> list[tuple[object, ...]]:
    table = framework_tables(raw).tables["marks"]
    table = table.take(table.text("kind").equals("step"))
    columns = (
        table.text("name").tolist(),
        *(table.array(c).tolist() for c in ("number", "start_ns", "end_ns")),
    )
    return list(zip(*columns, strict=True))


def _call(start: int, end: int, pointer: int, tid: int = 77) -> Event:
    return (tid, FORWARD, start, end, pointer, 1)


def test_inference_steps_follow_the_module_that_takes_most_time(tmp_path: Path) -> None:
    calls = [_call(1, 5, 9)]  # a preprocessing module, once
    for i in range(3):
        calls += [_call(100 * i + 10, 100 * i + 60, 1), _call(100 * i + 61, 100 * i + 70, 2)]
    _write(tmp_path, [], calls)
    assert _steps(tmp_path) == [
        ("inference", 0, 10, 70),
        ("inference", 1, 110, 170),
        ("inference", 2, 210, 270),
    ]


def test_a_burst_is_as_many_steps_as_it_has_calls(tmp_path: Path) -> None:
    _write(tmp_path, [], [_call(10, 20, 1), (77, FORWARD, 30, 90, 1, 3), _call(95, 99, 2)])
    times = [(row[2], row[3]) for row in _steps(tmp_path)]
    assert times == [(10, 20), (30, 50), (50, 70), (70, 99)]


def test_a_forward_pass_says_whether_gradients_were_on(tmp_path: Path) -> None:
    calls = [
        _call(1, 5, 9),
        (77, FORWARD_WITHOUT_GRAD, 11, 15, 9, 1),
        (77, FORWARD_WITHOUT_GRAD, 21, 90, 9, 30),
    ]
    _write(tmp_path / "raw", [], calls)
    marks = framework_tables(tmp_path / "raw").tables["marks"]
    forward = marks.take(marks.text("kind").equals("phase"))
    assert forward.text("extra").tolist() == ['{"grad": true}', None, '{"calls": 30}']


def test_a_program_that_trains_has_no_inference_steps(tmp_path: Path) -> None:
    _write(tmp_path, [], [_call(1, 5, 1), (77, TRAIN_STEP, 1, 9, 0, 1)])
    assert _steps(tmp_path) == [("train", 0, 1, 9)]


def test_a_compiled_function_that_holds_the_optimizer_ends_the_steps(tmp_path: Path) -> None:
    events: list[Event] = []
    for i in range(3):
        at = 100 * i + 10
        events += [(77, BACKWARD, at, at + 20, 0, 0), (77, BACKWARD, at + 30, at + 50, 0, 0)]
        events.append((77, COMPILED, at + 60, at + 80, 5, 1))  # two passes are accumulated before it
    _write(tmp_path, [], events)
    assert _steps(tmp_path) == [("train", 0, 10, 90), ("train", 1, 90, 190), ("train", 2, 190, 290)]


def test_what_the_program_calls_a_step_wins(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"kind": "step", "name": "user", "number": -1, "start_ns": i, "end_ns": i + 1, "tid": 77}
        for i in (1, 3)
    ]
    _write(tmp_path, rows, [(77, TRAIN_STEP, 1, 2, 0, 1), (77, TRAIN_STEP, 2, 3, 1, 1)])
    assert _steps(tmp_path) == [("user", 0, 1, 2), ("user", 1, 3, 4)]


def test_records_that_cannot_be_true_are_counted_and_left_out(tmp_path: Path) -> None:
    _write(tmp_path, [], [_call(5, 9, 1), (77, 999, 5, 9, 0, 0), (77, FORWARD, 9, 5, 1, 1), _call(11, 12, 1)])
    found = framework_tables(tmp_path)
    assert found.tables["losses"].array("count").tolist() == [2]
    assert len(_steps(tmp_path)) == 2


def test_more_records_than_a_chunk_holds_come_back_in_order(tmp_path: Path) -> None:
    count = 2 * CHUNK_BYTES // RECORD_BYTES
    events: list[Event] = [
        (tid, TRAIN_STEP, 10 * i + 1, 10 * i + 9, i, 1) for i in range(count) for tid in (77, 78)
    ]
    _write(tmp_path, [], events)
    read = events_file.read(tmp_path / "77.events.bin")
    assert (len(read), read.bad) == (2 * count, 0)
    for tid in (77, 78):
        assert read.a[read.tid == tid].tolist() == list(range(count))


def test_a_window_open_at_death_is_a_loss_and_bad_lines_are_counted(tmp_path: Path) -> None:
    opened = {"kind": "window", "name": "open", "number": 0, "start_ns": 5, "end_ns": 5, "tid": 77}
    _write(tmp_path, [opened], [])
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
    _write(tmp_path, [process], [_call(1, 5, 1, tid=80), _call(7, 8, 1, tid=81)], pid=80)
    processes = build.table("processes", process=[0, 1], pid=[50, 80], role=["main", "child"])
    threads = build.table("threads", thread=[0, 4], process=[0, 1], tid=[50, 80])
    found = framework_tables(tmp_path, processes, threads).tables
    assert found["processes"].array("rank").tolist() == [-1, 3]
    assert found["processes"].text("role").tolist() == ["main", "rank"]
    assert found["threads"].array("tid").tolist() == [50, 80, 81]
    phases = found["marks"].take(found["marks"].text("kind").equals("phase"))
    assert phases.array("thread").tolist() == [4, 5]
    assert phases.array("process").tolist() == [1, 1]
