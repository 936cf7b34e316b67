"""Profiling windows in real programs: placed by themselves or as told, and harmless."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.lifecycle.observed import needs_torch, run
from tests.lifecycle.test_steps import LOOP

pytestmark = pytest.mark.serial

pytestmark = needs_torch

TRAIN = (
    LOOP
    + """
for epoch in range({epochs}):
    for x, y in data:
        step(x, y)
print("done")
"""
)


def test_a_window_of_given_steps_knows_line_module_and_forward_of_every_op(tmp_path: Path) -> None:
    done = run(tmp_path, TRAIN.format(epochs=2), window="steps=3:6")
    assert (done.code, done.stdout, done.stderr) == (0, "done\n", "")
    found = done.framework()
    assert (found.windows, done.causes()) == (1, [])
    assert 0 < found.clock_uncertainty_ns < 50_000
    ops, marks = found.tables["ops"], found.tables["marks"]
    names = ops.text("name").tolist()
    assert names.count("aten::addmm") == 6
    assert names.count("Optimizer.step#SGD.step") == 3
    assert "sonde::clock" not in names
    # Every op lies inside the three steps, on one clock with the marks.
    steps = marks.take(marks.text("kind").equals("step"))
    inside = steps.take(np.isin(steps.array("number"), [3, 4, 5]))
    slack = found.clock_uncertainty_ns
    assert ops.array("start_ns").min() >= inside.array("start_ns").min() - slack
    assert ops.array("end_ns").max() <= steps.array("end_ns")[6]
    modules = {n: m for n, m in zip(names, ops.text("module").tolist(), strict=True) if n == "aten::relu"}
    assert modules == {"aten::relu": "1"}
    lines = dict(zip(names, ops.array("line").tolist(), strict=True))
    assert lines["Optimizer.step#SGD.step"] == 11
    assert lines["aten::addmm"] == lines["aten::cross_entropy_loss"] == 10
    duration = ops.array("end_ns") - ops.array("start_ns")
    backward = np.array([n.startswith("autograd::engine") for n in names])
    linked = backward & (ops.array("forward_op") >= 0)
    assert duration[linked].sum() >= 0.99 * duration[backward].sum()
    assert len(found.tables["memory"]) > 0


def test_a_profiler_whose_clock_runs_fast_is_put_right(tmp_path: Path) -> None:
    """Seen on a loaded machine: torch's times half a percent too long. Here they are stretched by hand."""
    done = run(tmp_path, TRAIN.format(epochs=20), window="steps=3:90")
    straight = done.framework()
    (path,) = done.raw.glob("*.window-0.json")
    trace = json.loads(path.read_text())
    first = min(e["ts"] for e in trace["traceEvents"] if e.get("name") == "sonde::clock")
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:
                event[key] = round((event[key] - (first if key == "ts" else 0)) * 1.005, 3)
                event[key] += first if key == "ts" else 0
    path.write_text(json.dumps(trace))
    found = done.framework()
    assert straight.details["torch_clock_drift"] == 0.0
    assert found.details["torch_clock_drift"] == pytest.approx(0.005, rel=0.1)
    for column in ("start_ns", "end_ns"):
        before, after = (f.tables["ops"].array(column) for f in (straight, found))
        within = straight.clock_uncertainty_ns + found.clock_uncertainty_ns
        assert np.abs(after - before).max() <= within < 100_000
    assert (before[-1] - before[0]) * 0.005 > 2 * within  # without the correction this would have failed


def test_windows_open_by_themselves_in_steady_training(tmp_path: Path) -> None:
    done = run(tmp_path, TRAIN.format(epochs=30), window="auto", budget=0.5)
    assert (done.code, done.stdout, done.stderr) == (0, "done\n", "")
    found = done.framework()
    assert found.windows >= 1
    assert done.marks("step") == 150
    starts = found.tables["marks"].take(found.tables["marks"].text("kind").equals("window"))
    steps = found.tables["marks"].take(found.tables["marks"].text("kind").equals("step"))
    assert starts.array("start_ns").min() > steps.array("end_ns")[2]  # not in the first steps


def test_all_of_a_program_without_steps(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Linear(3, 3)
        model(torch.ones(1, 3))
        x = torch.ones(5)
        for _ in range(10):
            x = torch.sigmoid(x)
        """,
        window="all",
    )
    assert (done.code, done.stderr) == (0, "")
    names = done.framework().tables["ops"].text("name").tolist()
    assert names.count("aten::sigmoid") == 10


def test_dying_inside_a_window_loses_the_window_only(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
import os, signal
for number, (x, y) in enumerate(data):
    step(x, y)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
""",
        window="steps=1:5",
    )
    assert done.code == -signal.SIGKILL
    assert "window_unfinished" in done.causes()
    assert done.marks("step") == 4


def test_an_exception_inside_a_window_shows_as_it_would_without_us(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
for number, (x, y) in enumerate(data):
    step(x, y)
    if number == 3:
        raise ValueError("planted")
""",
        window="steps=1:5",
    )
    assert done.code == 1
    assert done.stderr.endswith("ValueError: planted\n")
    assert "sonde" not in done.stderr
    assert done.framework().windows == 1  # what was recorded until then is kept


def test_the_programs_own_profiler_has_the_right_of_way(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
from torch.profiler import profile
for x, y in data:
    step(x, y)
with profile() as prof:
    for x, y in data:
        step(x, y)
prof.export_chrome_trace("own.json")
names = [row.key for row in prof.key_averages()]
assert "aten::addmm" in names and "sonde::clock" not in names
for x, y in data:
    step(x, y)
""",
        window="steps=4:12",
    )
    assert done.code == 0
    found = done.framework()
    assert "own_profiler" in done.causes()
    assert done.marks("step") == 15
    assert found.windows == 2  # the part before it, and the program's own trace
    ops, marks = found.tables["ops"], found.tables["marks"]
    steps = marks.take(marks.text("kind").equals("step"))
    # Two forwards per step; Sonde's window held the step before the program's five.
    assert ops.text("name").tolist().count("aten::addmm") == 2 * (1 + 5)
    assert ops.array("end_ns").max() < steps.array("end_ns")[9] + 1_000_000
    assert ops.array("start_ns").max() > steps.array("start_ns")[9]


def test_a_debuggers_trace_function_is_left_in_place(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
import sys
def mine(frame, event, arg):
    return None
sys.settrace(mine)
for x, y in data:
    step(x, y)
assert sys.gettrace() is mine
""",
        window="steps=1:3",
    )
    assert (done.code, done.stderr) == (0, "")
    ops = done.framework().tables["ops"]
    assert len(ops) > 0
    assert set(ops.array("line").tolist()) == {-1}


def test_a_window_in_a_loop_that_ends_closes_before_the_steps_that_follow(tmp_path: Path) -> None:
    """Data is read in a loop, long enough to look like a program without steps; then training begins."""
    done = run(
        tmp_path,
        LOOP
        + """
from torch._C._autograd import _profiler_enabled
def read():
    for _ in range(4000):
        sum(range(200_000))
        if _profiler_enabled():
            break
read()
for epoch in range(8):
    for x, y in data:
        step(x, y)
""",
        window="auto",
    )
    assert (done.code, done.stderr) == (0, "")
    told = [json.loads(line) for line in next(done.raw.glob("*.windows.jsonl")).read_text().splitlines()]
    assert told[0]["reason"] == "loop"
    tables = done.framework().tables
    ops, marks = tables["ops"], tables["marks"]
    assert marks.text("kind").tolist().count("step") == 40
    within = ops.array("start_ns") < told[0]["end_ns"]
    assert int((ops.text("name").equals("Optimizer.step#SGD.step") & within).sum()) <= 1
