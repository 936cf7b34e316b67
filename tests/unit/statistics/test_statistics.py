"""The statistics hold: size under drift, power, exactness, and agreement with brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.statistics.families import benjamini_hochberg
from sonde.statistics.groups import welch
from sonde.statistics.pairs import confidence_interval, pairs_needed, sign_flip_p
from sonde.statistics.student import t_quantile, t_two_sided


def brute_force_p(values: list[float]) -> float:
    observed = abs(np.mean(values))
    patterns = list(itertools.product((1, -1), repeat=len(values)))
    hits = sum(abs(np.mean(np.multiply(p, values))) >= observed * (1 - 1e-12) for p in patterns)
    return hits / len(patterns)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=3, max_size=9))
@settings(max_examples=60, deadline=None)
def test_p_equals_enumeration(values: list[float]) -> None:
    assert sign_flip_p(np.array(values)) == pytest.approx(brute_force_p(values))


def test_all_positive_gives_the_smallest_p() -> None:
    assert sign_flip_p(np.array([0.1, 0.2, 0.15, 0.12, 0.3, 0.2])) == 2 / 2**6


def test_interval_is_the_inverted_test() -> None:
    values = np.random.default_rng(3).normal(0.05, 0.02, 12)
    interval = confidence_interval(values, 0.05)
    assert interval.low < interval.estimate < interval.high
    width = interval.high - interval.low
    for edge, inward in ((interval.low, width * 1e-3), (interval.high, -width * 1e-3)):
        assert sign_flip_p(values, edge - inward) <= 0.05 < sign_flip_p(values, edge + inward)


def test_too_few_pairs_know_nothing() -> None:
    interval = confidence_interval(np.array([0.1, 0.1, 0.1]), 0.05)
    assert (interval.low, interval.high) == (-np.inf, np.inf)


def drifting_pairs(rng: np.random.Generator, pairs: int, effect: float) -> np.ndarray:
    """Times of a noisy machine: correlated noise, drift, regime shifts and spikes; pairs in random order."""
    count = 2 * pairs
    noise = np.empty(count)
    noise[0] = rng.normal(0, 0.01)
    for i in range(1, count):
        noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 0.01 * np.sqrt(1 - 0.49))
    level = np.linspace(0, rng.normal(0, 0.03), count)
    if rng.random() < 0.25:
        level[rng.integers(count) :] += 0.1
    spikes = (rng.random(count) < 0.05) * rng.exponential(0.1, count)
    log_time = noise + level + spikes
    b_first = rng.random(pairs) < 0.5
    first, second = log_time[0::2], log_time[1::2]
    return np.where(b_first, first - second, second - first) + effect


@pytest.mark.parametrize(("effect", "low", "high"), [(0.0, 0.0, 0.08), (0.03, 0.85, 1.0)])
def test_size_and_power_on_a_drifting_machine(effect: float, low: float, high: float) -> None:
    rng = np.random.default_rng(42)
    trials = 400
    called = sum(sign_flip_p(drifting_pairs(rng, 12, effect)) <= 0.05 for _ in range(trials))
    assert low <= called / trials <= high


def test_coverage_of_the_interval() -> None:
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(200):
        interval = confidence_interval(drifting_pairs(rng, 10, 0.02), 0.05)
        inside += interval.low <= 0.02 <= interval.high
    assert inside / 200 >= 0.90


def test_false_discoveries_are_held() -> None:
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(90), rng.random(10) * 1e-4])
    kept = benjamini_hochberg(p, 0.05)
    assert kept[90:].all()
    assert kept[:90].sum() <= 3
    assert not benjamini_hochberg(np.array([0.5, 0.9])).any()


def test_noisier_pairs_need_more() -> None:
    rng = np.random.default_rng(0)
    calm, wild = rng.normal(0, 0.01, 20), rng.normal(0, 0.05, 20)
    assert pairs_needed(calm, 0.03) < pairs_needed(wild, 0.03) < pairs_needed(wild, 0.01)


@pytest.mark.parametrize(("freedom", "expected"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423)])
def test_quantiles_of_student(freedom: int, expected: float) -> None:
    """Values of any printed table of t at 97.5 %."""
    assert t_quantile(0.975, freedom) == pytest.approx(expected, abs=1e-4)
    assert t_two_sided(expected, freedom) == pytest.approx(0.05, abs=1e-5)


def test_welch_by_hand() -> None:
    a, b = np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0, 9.0]])
    found = welch(a, b)
    # Means 2 and 6; variances 1 and 7; error sqrt(8/3); 2.55 degrees of freedom, taken as 2.
    assert found.difference[0] == pytest.approx(4.0)
    assert found.high[0] - 4.0 == pytest.approx(4.3027 * np.sqrt(8 / 3), rel=1e-4)
    assert welch(a, a).p[0] == pytest.approx(1.0)


def test_welch_holds_its_level_and_single_repetitions_know_nothing() -> None:
    rng = np.random.default_rng(2)
    found = welch(rng.normal(0, 1, (4000, 4)), rng.normal(0, 3, (4000, 5)))
    assert 0.02 <= float((found.p <= 0.05).mean()) <= 0.06
    alone = welch(np.ones((2, 1)), np.zeros((2, 3)))
    assert (alone.p == 1).all()
    assert np.isinf(alone.low).all()


def test_counts_that_never_vary_differ_for_certain() -> None:
    found = welch(np.full((2, 3), 4.0), np.array([[4.0] * 3, [5.0] * 3]))
    assert found.p.tolist() == [1.0, 0.0]
