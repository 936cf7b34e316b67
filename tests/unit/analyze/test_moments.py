"""Samples of threads that tick together count as one look."""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.moments import independent_looks, moments, weight_squares

MS = 1_000_000


def test_a_team_that_ticks_together_gives_as_many_looks_as_ticks() -> None:
    ticks = np.arange(100) * 10 * MS
    team = np.concatenate(
        [ticks, ticks + 60_000, ticks + 200_000]
    )  # three threads, signals up to 0.2 ms late
    assert moments(team).max() == 99
    weight = np.full(300, 10 * MS)
    assert independent_looks(team, weight) == 100
    # The same threads with ticks of their own are three times as many looks.
    apart = np.concatenate([ticks, ticks + 3 * MS, ticks + 6 * MS])
    assert independent_looks(apart, weight) == 300


def test_moments_do_not_chain() -> None:
    """Threads without end, each 0.4 ms after the other, are no single moment."""
    times = np.arange(50) * 400_000
    assert moments(times).tolist() == (np.arange(50) // 2).tolist()


def test_order_of_samples_does_not_matter() -> None:
    random = np.random.default_rng(0)
    times = random.integers(0, 1000 * MS, 400)
    mixed = random.permutation(400)
    assert moments(times)[mixed].tolist() == moments(times[mixed]).tolist()


def test_intervals_hold_for_a_team_that_works_in_step() -> None:
    """Two threads, both in a kernel or both not: the spread of the total over many runs is what was said."""
    random = np.random.default_rng(1)
    totals, said = [], []
    for _ in range(400):
        ticks = np.sort(random.integers(0, 4000 * MS, random.poisson(200)))
        key = (random.random(len(ticks)) < 0.3).astype(np.int64)
        time, both = np.concatenate([ticks, ticks + 50_000]), np.concatenate([key, key])
        weight = np.full(len(time), 10.0)
        totals.append(weight[both == 1].sum())
        said.append(weight_squares(moments(time), weight, both, 2)[1])
    assert 0.8 < np.mean(said) / np.var(totals) < 1.35


def test_no_samples() -> None:
    empty = np.zeros(0, np.int64)
    assert independent_looks(empty, empty) == 0.0
    assert weight_squares(empty, empty, empty, 3).tolist() == [0, 0, 0]
