"""What a run did besides steps: every moment of it is in one phase."""

from __future__ import annotations

from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import step_reports
from sonde.analyze.steps.run_phases import FORWARD, PAUSE, SAVING, SHUTDOWN, START, RunPhase, run_phases
from sonde.store import build

MS = 1_000_000


def phases(saves: bool = False) -> list[RunPhase]:
    """Steps of 10 ms from 100 to 200 ms, a second run of them from 500 ms; five passes of a model after both."""
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
        "frames", frame=[0], layer=["python"], name=["save"], file=["/x/torch/serialization.py"]
    )
    stacks = build.table("stacks", stack=[0], parent=[-1], frame=[0])
    samples = build.table(
        "samples",
        time_ns=[700 * MS],
        thread=[0],
        stack=[0 if saves else -1],
        state=["running"],
        weight_ns=[MS],
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
