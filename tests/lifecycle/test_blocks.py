"""Overhead blocks: sampling really stops in off blocks, and no CPU time goes missing by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.store.raw import WALK_RESIDUAL
from tests.lifecycle.recorded import cpu_s, run, weights_s


@pytest.mark.parametrize("engine", ["perf+kernel", "timer"])
def test_off_blocks_have_no_samples_and_sums_stay_true(program: Callable[[str], Path], engine: str) -> None:
    result = run([program("split"), "2.5"], rate_hz=200, engine=engine, environment={}, blocks=True)
    log = result.main()
    on, off = log.blocks.on, ~log.blocks.on
    assert on.sum() >= 1
    assert off.sum() >= 1
    ticks = log.samples.time_ns[log.samples.walk_end != WALK_RESIDUAL]
    for start, end in zip(log.blocks.start_ns[off], log.blocks.end_ns[off], strict=True):
        # A tick that was on its way when the block began is not held back.
        assert ((ticks > start + 5_000_000) & (ticks < end)).sum() == 0
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
    off_cpu = log.blocks.cpu_ns[off].sum() / log.blocks.cpu_ns.sum()
    residual = (
        log.samples.weight_ns[log.samples.walk_end == WALK_RESIDUAL].sum() / log.samples.weight_ns.sum()
    )
    assert residual > off_cpu - 0.08
    if log.header.engine != "timer":  # whose ticks are few on a crowded machine
        assert residual < off_cpu + 0.08
