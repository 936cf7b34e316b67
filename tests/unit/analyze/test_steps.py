"""Which steps count in the statistics."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.steps.program import step_reports, until_next
from sonde.columns import Table
from sonde.store import build

MS = 1_000_000


def _marks(steps: list[tuple[int, str | None]], windows: list[tuple[int, int, str]]) -> Table:
    """Steps one after the other with their milliseconds and `extra`, and windows."""
    kind, name, number, start, end, extra = [], [], [], [], [], []
    at = 1
    for index, (duration, more) in enumerate(steps):
        for what, label, until in (
            ("step", "train", at + duration),
            ("phase", "backward", at + duration // 2),
        ):
            kind.append(what)
            name.append(label)
            number.append(index if what == "step" else -1)
            start.append(at * MS)
            end.append(until * MS)
            extra.append(more if what == "step" else None)
        at += duration
    for begin, until, label in windows:
        kind.append("window")
        name.append(label)
        number.append(0)
        start.append(begin * MS)
        end.append(until * MS)
        extra.append(None)
    count = len(kind)
    return build.table(
        "marks",
        count,
        mark=list(range(count)),
        process=[0] * count,
        thread=[0] * count,
        kind=kind,
        name=name,
        number=number,
        start_ns=start,
        end_ns=end,
        extra=extra,
    )


def test_steps_that_touch_a_window_or_a_capture_are_in_no_statistic() -> None:
    durations = [10] * 10 + [50, 60] + [10] * 10 + [300] + [10] * 3  # 301..., then a capture
    marks = _marks([(d, None) for d in durations], [(102, 205, "complete"), (312, 600, "primitives")])
    (report,) = step_reports(marks)
    assert [step.index for step in report.steps if step.in_window] == [10, 11, 22]
    assert report.left_out == 3
    assert (report.p10_ns, report.median_ns, report.p90_ns) == (10 * MS, 10 * MS, 10 * MS)
    assert report.warmup == 0
    assert len(report.steps) == 26


def test_slow_window_steps_at_the_start_are_no_warm_up() -> None:
    (report,) = step_reports(_marks([(40, None)] * 3 + [(10, None)] * 20, [(1, 120, "complete")]))
    assert (report.warmup, report.left_out) == (0, 3)


def test_when_all_is_a_window_all_steps_count() -> None:
    (report,) = step_reports(_marks([(10, None)] * 8, [(1, 500, "complete")]))
    assert (report.median_ns, report.left_out) == (10 * MS, 0)


def test_steady_steps_are_those_that_the_statistics_are_of() -> None:
    durations = [90, 80] + [10] * 10 + [50, 60] + [10] * 10
    marks = _marks([(d, None) for d in durations], [(272, 375, "complete")])
    (report,) = step_reports(marks)
    assert report.warmup == 2
    assert [step.index for step in report.steady] == [*range(2, 12), *range(14, 24)]
    (all_in_one,) = step_reports(_marks([(10, None)] * 8, [(1, 500, "complete")]))
    assert len(all_in_one.steady) == 8


def test_a_steady_step_reaches_to_the_next_one_but_not_over_a_long_pause() -> None:
    marks = _marks([(10, None)] * 12, [])
    is_step = marks.text("kind").equals("step")
    late = np.where(marks.array("start_ns") > 60 * MS, 500 * MS, 0)  # half a second before the seventh step
    shorter = np.where(is_step, 3 * MS, 0)  # and 3 ms between any two
    marks = marks.with_columns(
        start_ns=marks.array("start_ns") + late, end_ns=marks.array("end_ns") + late - shorter
    )
    (report,) = step_reports(marks)
    start_ns, end_ns = report.steady_spans()
    assert ((end_ns - start_ns) // MS).tolist() == [10] * 5 + [7] + [10] * 5 + [7]


def test_phases_come_from_the_steps_that_have_them() -> None:
    steps = [(10, None if i % 4 == 0 else '{"phases": false}') for i in range(20)]
    marks = _marks(steps, [])
    (report,) = step_reports(marks)
    assert report.phase_ns == {"backward": 5 * MS, "other": 5 * MS}
    assert report.steps[1].phase_ns == {}
    assert report.steps[4].phase_ns == {"backward": 5 * MS, "other": 5 * MS}


def test_a_step_lasts_to_the_start_of_the_next_and_its_phases_sum_to_it() -> None:
    starts = [i * 10 * MS for i in range(8)] + [900 * MS]  # the last comes after a long pause
    marks = build.table(
        "marks",
        process=[0] * 17,
        thread=[0] * 17,
        kind=["step"] * 9 + ["phase"] * 8,
        name=["train"] * 9 + ["forward"] * 8,
        number=[*range(9), *range(8)],
        start_ns=[*starts, *starts[:8]],
        end_ns=[*(s + 6 * MS for s in starts), *(s + 2 * MS for s in starts[:8])],
    )
    (report,) = step_reports(marks)
    assert [s.duration_ns for s in report.steps] == [10 * MS] * 7 + [6 * MS] * 2
    assert sum(report.phase_ns.values()) == pytest.approx(report.median_ns)
    assert set(report.phase_ns) == {"forward", "other"}
    (marked,) = step_reports(marks, gaps=False)
    assert {s.duration_ns for s in marked.steps} == {6 * MS}


def test_a_small_model_in_a_long_loop_has_long_steps() -> None:
    start = np.arange(12, dtype=np.int64) * 80_000_000
    ends = until_next(start, start + 150_000, build.empty("marks"))
    assert (ends[:-1] == start[1:]).all()  # 0.15 ms of model, 80 ms of loop: the loop is the step
    pause = np.append(start, start[-1] + 80_000_000 * 30)
    assert until_next(pause, pause + 150_000, build.empty("marks"))[-2] == pause[-2] + 150_000


def test_on_a_busy_machine_phases_are_divided_by_samples() -> None:
    """Each step computes 6 ms forward and 4 ms backward, then loses 30 ms at the same place: between the two."""
    ms, steps = 1_000_000, 60
    marks, samples = [], []
    for i in range(steps):
        at = i * 40
        marks += [
            ("step", "train", at, at + 40),
            ("phase", "forward", at, at + 6),
            ("phase", "backward", at + 36, at + 40),
        ]
        samples += [(at + 1, "running", None, 3), (at + 4, "running", None, 3), (at + 37, "running", None, 4)]
        samples += [(at + 6, "waiting", "preempted", 30)]
    samples.sort()
    table = build.table(
        "marks",
        process=[0] * len(marks),
        thread=[0] * len(marks),
        kind=[m[0] for m in marks],
        name=[m[1] for m in marks],
        number=list(range(len(marks))),
        start_ns=[m[2] * ms for m in marks],
        end_ns=[m[3] * ms for m in marks],
    )
    seen = build.table(
        "samples",
        time_ns=[s[0] * ms for s in samples],
        thread=[0] * len(samples),
        stack=[-1] * len(samples),
        state=[s[1] for s in samples],
        reason=[s[2] for s in samples],
        weight_ns=[s[3] * ms for s in samples],
    )
    threads = build.table("threads", thread=[0], process=[0], kind=["main"])
    (report,) = step_reports(table, seen, threads)
    assert report.median_ns == pytest.approx(10 * ms, rel=0.05)
    assert report.phase_ns["forward"] == pytest.approx(0.6 * report.median_ns)
    assert report.phase_ns["backward"] == pytest.approx(0.4 * report.median_ns)
