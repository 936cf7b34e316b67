"""Clocks of two hosts aligned by collectives, where one host always comes last: the error is within what is stated."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ranks.clocks import fit

OFFSET = 1_000_000_000_000
MS = 1e6
CALLS = 120


@pytest.mark.parametrize(("share", "late_ms"), [(0.0, 0.0), (0.6, 1.0), (0.6, 3.0), (0.9, 1.0)])
def test_ends_that_a_busy_host_notes_late_do_not_move_its_clock(share: float, late_ms: float) -> None:
    """Host A notes `share` of its ends `late_ms` late on average: its threads wait for a CPU."""
    for seed in range(20):
        dice = np.random.default_rng(seed)
        asked_a = np.cumsum(dice.uniform(5, 40, CALLS)) * MS
        asked_b = asked_a + np.where(np.arange(CALLS) % 2 == 0, 30.0, dice.uniform(0.5, 1.5, CALLS)) * MS
        transfer = (0.15 + dice.exponential(0.05, CALLS)) * MS
        noted_late = np.where(dice.random(CALLS) < share, dice.exponential(late_ms, CALLS), 0.0) * MS
        ended_a = asked_b + transfer * dice.uniform(0.6, 1, CALLS) + noted_late
        ended_b = asked_b + transfer
        a, done_a, b, done_b = (x.astype(np.int64) for x in (asked_a, ended_a, asked_b, ended_b))
        found = fit(a, done_a, b + OFFSET, done_b + OFFSET)
        assert not found.refused
        error = np.abs(found.to_a(b + OFFSET) - b).max()
        assert error <= found.uncertainty_ns, seed
        assert found.uncertainty_ns < 1 * MS
