"""The short form of benchmarks/suites/split.py, and a check of its interval."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from benchmarks.suites.split import KINDS, Kind, binomial_interval, build, split_run

pytestmark = pytest.mark.serial


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def test_a_known_split_is_inside_its_binomial_interval(kind: Kind, tmp_path: Path) -> None:
    run = split_run(kind, build(tmp_path), tmp_path / "split.sonde", seconds=1.2, rate_hz=1000)
    assert run.samples > 100  # 1200 where the kernel grants perf events
    assert 0.6 < run.truth < 0.8
    assert run.inside, run


def test_the_interval_is_the_binomial_one() -> None:
    low, high = binomial_interval(1000, 0.7, 0.999)
    chance = [math.comb(1000, k) * 0.7**k * 0.3 ** (1000 - k) for k in range(1001)]
    assert sum(chance[:low]) < 0.0005 <= sum(chance[: low + 1])
    assert sum(chance[high + 1 :]) <= 0.0005 < sum(chance[high:])
