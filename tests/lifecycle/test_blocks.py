"""Overhead blocks: sampling really stops in off blocks, no CPU time goes missing, and the cost comes out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.analyze.recording.overhead import overhead_of
from sonde.analyze.recording.quality import quality
from sonde.ingest.agent.log import WALK_RESIDUAL
from sonde.record.outside.job import record
from sonde.record.outside.options import RunOptions
from sonde.views.quality import TABLES
from tests.lifecycle.recorded import PROGRAMS, cpu_s, run, weights_s

pytestmark = pytest.mark.serial


@pytest.mark.parametrize(("engine", "rate_hz"), [("timer+kernel", 100), ("perf+kernel", 200), ("timer", 200)])
def test_off_blocks_have_no_samples_and_sums_stay_true(
    program: Callable[[str], Path], engine: str, rate_hz: int
) -> None:
    result = run([program("split"), "2.5"], rate_hz=rate_hz, engine=engine, environment={}, blocks=True)
    log = result.main()
    on, off = log.blocks.on, ~log.blocks.on
    pairs = len(on) // 2
    assert pairs >= 4
    assert (on[0 : 2 * pairs : 2] != on[1 : 2 * pairs : 2]).all()  # each pair has one of either kind
    ticks = log.samples.time_ns[log.samples.walk_end != WALK_RESIDUAL]
    for start, end in zip(log.blocks.start_ns[off], log.blocks.end_ns[off], strict=True):
        # The one tick that was on its way when the block began is not held back; on would be 20.
        assert ((ticks > start + 5_000_000) & (ticks < end)).sum() <= 1
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
    off_cpu = log.blocks.cpu_ns[off].sum() / log.blocks.cpu_ns.sum()
    residual = (
        log.samples.weight_ns[log.samples.walk_end == WALK_RESIDUAL].sum() / log.samples.weight_ns.sum()
    )
    assert residual > off_cpu - 0.08
    if log.header.engine != "timer":  # whose ticks are few on a crowded machine
        assert residual < off_cpu + 0.08


def test_a_real_run_shows_its_own_overhead(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "steps.py"), "5"]
    outcome = record(command, tmp_path / "steps.sonde", RunOptions(rate_hz=1000, blocks=True))
    assert outcome.exit_code == 0
    overhead = quality({name: outcome.recording.table(name) for name in TABLES}).overhead
    assert overhead.method == "blocks"
    assert overhead.pairs >= 8
    assert overhead.share is not None
    assert overhead.low is not None
    assert overhead.high is not None
    assert overhead.low < overhead.share < overhead.high
    # The agent's own clocks say what its handlers took, as an interval: over the half of the run that was sampled it
    # must meet what the blocks found.
    counters, marks = outcome.recording.table("counters"), outcome.recording.table("marks")
    without = marks.take(~marks.text("kind").matches(("overhead_on", "overhead_off")))
    cpu_ns = int(outcome.recording.table("samples").array("weight_ns").sum())
    accounted = overhead_of(counters, without, cpu_ns)
    assert accounted.method == "accounted"
    assert accounted.low is not None
    assert accounted.high is not None
    noise = 0.02  # of blocks, on a crowded machine
    assert overhead.low - noise < 2 * accounted.high
    assert 2 * accounted.low < overhead.high + noise
