"""The scatter between runs: a prior that alike runs correct."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.statistics.scatter import PRIOR, runs_needed, scatter, single_runs, two_sided


def test_without_alike_runs_the_prior_is_all_there_is() -> None:
    found = scatter([[1.0], []])
    assert (found.deviation, found.runs) == (pytest.approx(PRIOR), 0)


def test_many_alike_runs_outweigh_the_prior() -> None:
    rng = np.random.default_rng(0)
    found = scatter([rng.normal(3.0, 0.15, 200).tolist(), rng.normal(9.0, 0.15, 200).tolist()])
    assert found.deviation == pytest.approx(0.15, rel=0.1), "levels of the groups do not matter"
    assert found.runs == 400


def test_the_interval_has_the_coverage_that_it_claims() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        a, b = rng.normal(0, np.hypot(PRIOR, 0.02), 2)
        found = single_runs(float(b - a), (0.02, 0.02), scatter([]))
        covered += found.low <= 0 <= found.high
    assert 940 <= covered <= 985


def test_small_differences_need_more_runs() -> None:
    assert runs_needed(0.3, scatter([])) == 3
    assert runs_needed(0.1, scatter([])) > runs_needed(0.2, scatter([]))
    assert runs_needed(0.0, scatter([])) == 6


def test_p_falls_with_distance() -> None:
    assert two_sided(0.0, 1.0, 12) == pytest.approx(1.0)
    assert two_sided(3.0, 1.0, 12) < 0.02
    assert (two_sided(1.0, 0.0, 12), two_sided(0.0, 0.0, 12)) == (0.0, 1.0)
