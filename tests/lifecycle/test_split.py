"""The short form of benchmarks/suites/split.py, and a check of its interval."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suites.split import KINDS, PROGRAMS, Kind, binomial_interval, build, split_run
from sonde.record.outside.job import record
from sonde.record.outside.options import RunOptions

pytestmark = pytest.mark.serial


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def test_a_known_split_is_inside_its_binomial_interval(kind: Kind, tmp_path: Path) -> None:
    run = split_run(kind, build(tmp_path), tmp_path / "split.sonde", seconds=1.2, rate_hz=1000)
    assert run.samples > 100  # 1200 where the kernel grants perf events
    assert 0.6 < run.truth < 0.8
    assert run.inside, run


def test_early_ticks_do_not_walk_in_step_with_the_program(tmp_path: Path) -> None:
    """Equal intervals meet a program whose turns take as long always at the same place: no count of samples helps.

    A thread's first half second of CPU time has a clock of another kind (native/agent/engine/perf_event.h).
    """
    run = [sys.executable, str(PROGRAMS / "split.py"), "0.25", "1"]
    outcome = record(run, tmp_path / "early.sonde", RunOptions(rate_hz=1000, window="none"))
    samples = outcome.recording.table("samples")
    sampled = samples.text("state").equals("running") & ~samples.text("walk").equals("residual")
    apart_ns = samples.array("weight_ns")[sampled & (samples.array("thread") == samples.array("thread")[0])]
    low_ns, high_ns = np.quantile(apart_ns, (0.1, 0.9))
    assert len(apart_ns) > 50
    assert high_ns / low_ns > 1.5  # about 2.3; 1.1 when each tick follows the last by the same time


def test_the_interval_is_the_binomial_one() -> None:
    low, high = binomial_interval(1000, 0.7, 0.999)
    chance = [math.comb(1000, k) * 0.7**k * 0.3 ** (1000 - k) for k in range(1001)]
    assert sum(chance[:low]) < 0.0005 <= sum(chance[: low + 1])
    assert sum(chance[high + 1 :]) <= 0.0005 < sum(chance[high:])
