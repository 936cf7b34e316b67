"""What a run did besides steps: every moment of it is in one phase."""

from __future__ import annotations

from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import step_reports
from sonde.analyze.steps.run_phases import (
    FORWARD,
    GENERATION,
    PAUSE,
    SAVING,
    SHUTDOWN,
    START,
    VALIDATION,
    RunPhase,
    run_phases,
)
from sonde.store import build

MS = 1_000_000


def phases(saves: bool = False, calls: str = "run", then: str = "") -> list[RunPhase]:
    """Steps of 10 ms from 100 to 200 ms, a second run of them from 500 ms; five passes of a model after both.

    A function called `calls` makes the passes after the first, the last two of them one called `then`.
    """
    steps = [100 + 10 * i for i in range(10)] + [500 + 10 * i for i in range(10)]
    passes = [*(300 + 8 * i for i in range(5)), *(640 + 8 * i for i in range(5))]
    rows = [("step", "train", s, s + 10) for s in steps] + [
        ("phase", "forward", s, s + 3) for s in (*steps, *passes)
    ]
    marks = build.table(
        "marks",
        process=[0] * len(rows),
        thread=[0] * len(rows),
        kind=[r[0] for r in rows],
        name=[r[1] for r in rows],
        number=[*range(len(rows))],
        start_ns=[r[2] * MS for r in rows],
        end_ns=[r[3] * MS for r in rows],
    )
    frames = build.table(
        "frames",
        frame=[0, 1, 2, 3],
        layer=["python"] * 4,
        name=["save", calls, "test", then or calls],
        file=[
            "/x/torch/serialization.py",
            "/home/me/train.py",
            "/usr/lib/python3.11/test/support.py",
            "/home/me/train.py",
        ],
    )
    stacks = build.table("stacks", stack=[0, 1, 2, 3], parent=[-1, 2, -1, -1], frame=[0, 1, 2, 3])
    samples = build.table(
        "samples",
        time_ns=[700 * MS, 310 * MS, 326 * MS],
        thread=[0] * 3,
        stack=[0 if saves else -1, 1, 3 if then else 1],
        state=["running"] * 3,
        weight_ns=[MS] * 3,
    )
    (report,) = step_reports(marks)
    return run_phases(report, marks, (0, 800 * MS), samples, StackIndex(frames, stacks))


def test_the_phases_are_the_whole_run_and_forward_passes_outside_of_steps_are_one() -> None:
    found = phases()
    assert [(p.name, p.start_ns // MS, p.end_ns // MS, p.count) for p in found] == [
        (START, 0, 100, 0),
        ("training", 100, 200, 10),
        (PAUSE, 200, 300, 0),
        (FORWARD, 300, 335, 5),
        (PAUSE, 335, 500, 0),
        ("training", 500, 600, 10),
        (PAUSE, 600, 640, 0),
        (FORWARD, 640, 675, 5),
        (SHUTDOWN, 675, 800, 0),
    ]
    assert sum(p.end_ns - p.start_ns for p in found) == 800 * MS


def test_a_pause_whose_samples_are_in_torch_save_is_saving() -> None:
    assert phases(saves=True)[-1].name == SAVING


def test_passes_outside_of_steps_are_called_after_the_functions_that_make_them() -> None:
    """Python's own functions, and torch's, do not count."""
    for name, purpose in (
        ("estimate_loss", VALIDATION),
        ("evaluate", VALIDATION),
        ("validate", VALIDATION),
        ("test", VALIDATION),
        ("p_sample_loop", GENERATION),
        ("generate", GENERATION),
        ("main", FORWARD),
        ("latest", FORWARD),
    ):
        assert next(p.name for p in phases(calls=name) if p.start_ns == 300 * MS) == purpose, name


def test_validation_and_generation_in_one_pause_are_two_phases() -> None:
    found = [
        (p.name, p.start_ns // MS, p.end_ns // MS, p.count) for p in phases(calls="evaluate", then="generate")
    ]
    assert (VALIDATION, 300, 324, 3) in found
    assert (GENERATION, 324, 335, 2) in found
