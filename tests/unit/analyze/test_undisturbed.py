"""Steps before and after profiling windows: a change is seen, and chance is not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sonde.analyze.recording.undisturbed import Effect, _after, window_effect
from sonde.columns import Table, Text

STEP_NS = 50_000_000
FAULTS = np.array([9000, 11000, 10000, 12000, 9500, 10500, 9800])


def _effect(
    faults_after: float, cpu_after: float = 1.0, steps_before: bool = True, waits_after: float = 0.0
) -> Effect | None:
    """Seven steps, a window, then 200 steps with a reading every quarter second.

    Without `steps_before` the readings before the window are of module calls that are no steps. `waits_after` is the
    share of the CPU time after the window that a pool's threads burn while they wait.
    """
    before, end, cpu, faults = [], 0, 0, 0
    for n in FAULTS:
        end, cpu, faults = end + STEP_NS, cpu + STEP_NS, faults + int(n)
        before.append([end, cpu, faults])
    opened, closed = end, end + 3 * STEP_NS
    ends = closed + STEP_NS * np.arange(1, 201)
    steps_end = np.concatenate((np.array(before)[:, 0] if steps_before else [], ends)).astype(np.int64)
    count = len(steps_end)
    marks = Table(
        "marks",
        {
            "kind": Text.of(["window", *["step"] * count]),
            "name": Text.of(["complete", *["train"] * count]),
            "process": np.zeros(count + 1, np.int64),
            "start_ns": np.concatenate(([opened], steps_end - STEP_NS)),
            "end_ns": np.concatenate(([closed], steps_end)),
            "extra": Text.of([json.dumps({"before": before}), *[None] * count]),
        },
    )
    moments = np.arange(closed, ends[-1], 5 * STEP_NS)
    steps = (moments - closed) / STEP_NS
    noise = np.random.default_rng(1).normal(1, 0.05, len(moments)).cumsum() * 5
    rows = {
        "cpu_user_ns": steps * STEP_NS * cpu_after,
        "cpu_system_ns": steps * 0,
        "minor_faults": noise * faults_after,
    }
    counters = Table(
        "counters",
        {
            "name": Text.of([name for name in rows for _ in moments]),
            "process": np.zeros(3 * len(moments), np.int64),
            "time_ns": np.tile(moments, 3),
            "value": np.concatenate(list(rows.values())),
        },
    )
    at = np.array([STEP_NS, int(closed + 20 * STEP_NS), int(closed + 20 * STEP_NS)])
    samples = Table(
        "samples",
        {
            "time_ns": at,
            "thread": np.zeros(3, np.int64),
            "state": Text.of(["running", "running", "spinning"]),
            "weight_ns": np.array([1000, 1000 * (1 - waits_after), 1000 * waits_after]),
        },
    )
    threads = Table("threads", {"thread": np.zeros(1, np.int64), "process": np.zeros(1, np.int64)})
    return window_effect(marks, counters, samples, threads)


def test_module_calls_before_the_first_step_are_not_compared_with_steps() -> None:
    assert _effect(faults_after=10467, cpu_after=5.0, steps_before=False) is None


def test_busy_waiting_beside_another_program_is_no_change() -> None:
    found = _effect(faults_after=10467, cpu_after=2.0, waits_after=0.5)
    assert found is not None
    assert (found.differs, found.sentence) == ((), "")


def test_faults_that_are_gone_after_the_windows_are_said() -> None:
    found = _effect(faults_after=1000)
    assert found is not None
    assert found.differs == ("page faults",)
    assert found.before.faults == pytest.approx(FAULTS[1:].mean())
    assert found.after.faults == pytest.approx(1000, rel=0.05)
    assert "10,467 → 999 page faults" in found.sentence
    assert "sonde run --window none" in found.sentence


def test_cpu_time_that_is_less_is_said() -> None:
    found = _effect(faults_after=10467, cpu_after=0.7)
    assert found is not None
    assert found.differs == ("CPU time",)
    assert "50 → 35 ms of CPU time" in found.sentence


def test_steps_that_are_alike_are_not() -> None:
    found = _effect(faults_after=10467)
    assert found is not None
    assert (found.differs, found.sentence) == ((), "")


def test_readings_inside_one_long_step_are_not_compared() -> None:
    """Eight readings while one step stands still in a garbage collection are not eight slow steps."""
    ends = np.array([1, 2, 3, 4, 40, 41, 42, 43]) * STEP_NS
    steps = Table(
        "marks",
        {
            "end_ns": ends,
            "kind": Text.of(["step"] * 8),
            "name": Text.of(["train"] * 8),
            "start_ns": ends - STEP_NS,
            "process": np.zeros(8, np.int64),
        },
    )
    moments = np.arange(5, 40, 4) * STEP_NS
    names = [name for name in ("cpu_user_ns", "cpu_system_ns", "minor_faults") for _ in moments]
    counters = Table(
        "counters",
        {
            "name": Text.of(names),
            "time_ns": np.tile(moments, 3),
            "value": np.tile(moments, 3).astype(np.float64),
        },
    )
    assert _after(steps, counters, 0) is None
