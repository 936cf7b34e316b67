"""A program beside busy neighbours: the same verdict as alone, and the neighbours are named."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.columns import Text
from sonde.insights.engine import judge
from sonde.insights.to_json import report_json
from sonde.render.text.insights import taken_sentence
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.synthetic import training_run
from tests.unit.insights.planted import planted, said, settings

LOOK_NS = 100_000_000


def beside_neighbours(taken: float = 0.75, waits: float = 19.0) -> Recording:
    """The made-up run, in which main is off the CPU for `taken` of each look, and each sample in a kernel of its
    own stands beside one that waits `waits` times as long for another thread."""
    run = training_run()
    samples, threads = run.table("samples"), run.table("threads")
    main = int(threads.array("thread")[threads.text("kind").equals("main")][0])
    own = (samples.array("thread") == main) & samples.text("state").equals("running")
    late = samples.take(np.flatnonzero(own))
    late = late.with_columns(
        state=Text.full(len(late), "imbalance"), weight_ns=(late.array("weight_ns") * waits).astype(np.int64)
    )
    time_ns = samples.array("time_ns")
    looks = np.arange(int(time_ns.min()), int(time_ns.max()), LOOK_NS)
    away = build.table(
        "samples",
        len(looks),
        time_ns=looks,
        thread=np.full(len(looks), main),
        stack=np.full(len(looks), int(samples.array("stack")[own][0])),
        state=["waiting"] * len(looks),
        reason=["preempted"] * len(looks),
        weight_ns=np.full(len(looks), int(LOOK_NS * taken)),
    )
    tables = {"samples": build.concat("samples", [samples, late, away])}
    return planted(settings(threads=2), tables, machine={"usable_cpus": 2})


def test_the_verdict_is_that_of_the_quiet_run() -> None:
    alone, crowded = (
        judge(planted(settings(threads=2), machine={"usable_cpus": 2})),
        judge(beside_neighbours()),
    )
    assert alone.bound is not None
    assert crowded.bound is not None
    assert crowded.bound.word == alone.bound.word
    for name in ("math", "memory", "overhead", "input"):
        assert crowded.bound.shares[name] == pytest.approx(alone.bound.shares[name], abs=0.02)
    assert alone.step_ms is not None
    assert crowded.step_ms == pytest.approx(0.25 * alone.step_ms, rel=0.05)
    assert taken_sentence(alone) is None
    assert taken_sentence(crowded) == (
        "The machine was busy: main was ready but off the CPU 75 % of the time; "
        "wall-clock figures below are of the rest."
    )
    assert report_json(crowded)["taken_away"]["share"] == pytest.approx(0.75, abs=0.01)


def test_threads_that_wait_for_each_other_beside_another_program_are_a_finding() -> None:
    found = said(judge(beside_neighbours()), "spin_share")
    assert found is not None
    share, _, rest = found.title.partition(" % of CPU time is ")
    assert rest == "OpenMP threads waiting for each other: another program holds a core"
    assert 80 <= int(share) <= 96
    assert "OMP_WAIT_POLICY=PASSIVE" in found.fix
    report = judge(beside_neighbours())
    assert found.saving is not None
    assert report.step_ms is not None
    assert found.saving.of_ms == pytest.approx(4 * report.step_ms, rel=0.05)  # 75 % was taken
    assert "one thread would need about as long" in found.evidence[-1].text
    # Nothing is said where no other program is near: the same waits are then the program's own.
    assert said(judge(beside_neighbours(taken=0.0)), "spin_share") is None


def test_waiting_for_the_pool_is_no_arithmetic() -> None:
    bound = judge(beside_neighbours(taken=0.0)).bound
    assert bound is not None
    assert bound.word == "wait-bound"
    assert bound.shares["pool"] > 0.9
    assert "waiting for other threads of the pool" in bound.evidence[0]
