"""Verdicts: right words on clear data, 5 % in all over the planned looks on A/A."""

from __future__ import annotations

import itertools

import numpy as np

from sonde.experiment.design.schedule import pair_orders
from sonde.statistics.verdict import LOOKS, judge, noise_floor_of
from tests.unit.statistics.test_statistics import drifting_pairs


def test_words() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.004, 16)
    assert judge(noise - 0.05).word == "faster"
    assert judge(noise + 0.05).word == "slower"
    assert judge(noise / 4).word == "same"
    unsure = judge(rng.normal(0.01, 0.05, 10))
    assert unsure.word == "inconclusive"
    assert unsure.more_pairs >= 2
    assert "more pairs" in unsure.reason


def test_ratio_is_b_over_a() -> None:
    verdict = judge(np.full(10, np.log(0.8)) + np.linspace(-0.001, 0.001, 10))
    assert 0.79 < verdict.ratio.low <= verdict.ratio.estimate <= verdict.ratio.high < 0.81


def test_nothing_below_the_noise_floor_is_claimed() -> None:
    pairs = np.random.default_rng(2).normal(0.02, 0.002, 16)
    assert judge(pairs, noise_floor=0.01).word == "slower"
    assert judge(pairs, noise_floor=0.05).word == "same"


def test_all_planned_looks_together_keep_five_percent() -> None:
    rng = np.random.default_rng(11)
    trials = 120
    called = 0
    for _ in range(trials):
        pairs = drifting_pairs(rng, LOOKS[-1], 0.0)
        called += any(judge(pairs[:n]).word in ("faster", "slower") for n in LOOKS)
    assert called / trials <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / trials)


def test_noise_floor_grows_with_noise() -> None:
    rng = np.random.default_rng(5)
    calm, wild = noise_floor_of(rng.normal(0, 0.005, 8)), noise_floor_of(rng.normal(0, 0.05, 8))
    assert 0 < calm < wild < 0.2
    assert noise_floor_of(np.array([0.0, 0.1])) == float("inf")


def test_one_spike_among_equal_pairs_does_not_hide_what_every_pair_shows() -> None:
    """Seen on a conv net: A against A with one launch far off, then huge pages against it."""
    floor = noise_floor_of(np.log([1.061, 0.978, 0.969, 1.006, 0.803, 1.009]))
    assert floor < 0.03
    assert judge(np.log([0.973, 0.966, 0.964, 0.961, 0.995, 0.964, 0.961, 0.982]), floor).word == "faster"


def test_orders_are_balanced_and_depend_on_the_seed() -> None:
    first = list(itertools.islice(pair_orders(1), 40))
    assert first.count(("A", "B")) == 20
    assert first != list(itertools.islice(pair_orders(2), 40))


def test_an_unknown_noise_floor_claims_nothing() -> None:
    """One pair against another: no floor, no interval, so neither a difference nor equality."""
    verdict = judge(np.array([-0.4]), float("inf"))
    assert verdict.word == "inconclusive"
    assert verdict.more_pairs >= 2
    quiet = judge(np.random.default_rng(0).normal(0, 0.001, 10), float("inf"))
    assert quiet.word == "same"
    assert "below 0." in quiet.reason
