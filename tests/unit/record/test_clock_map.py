"""The map between the profiler's clock and ours, on clocks whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.ingest.observers.clock_map import clock_map

EPOCH = 1_760_000_000_000_000_000  # ns; a double is 256 ns coarse here
RNG_WIDTH = 900  # ns between our two readings


def made(true_ns: np.ndarray, pace: float, seed: int, interrupted: int = -1) -> tuple[np.ndarray, ...]:
    """Records at `true_ns` (our clock) by a profiler whose clock runs `pace` fast from the first record on."""
    rng = np.random.default_rng(seed)

    def theirs(t: np.ndarray) -> np.ndarray:
        return EPOCH + t + np.rint((t - true_ns[0]) * pace).astype(np.int64)

    before = true_ns - rng.integers(100, RNG_WIDTH, len(true_ns))
    end = true_ns + rng.integers(50, 200, len(true_ns))
    after = end + rng.integers(100, RNG_WIDTH, len(true_ns))
    if interrupted >= 0:
        after[interrupted] += 3_000_000
    return theirs(true_ns), theirs(end), np.stack([before, after], axis=1)


def window(steps: int) -> np.ndarray:
    first = 5_000_000_000 + np.arange(5) * 3_000
    inner = 5_000_100_000 + np.arange(1, steps) * 10_000_000
    return np.concatenate([first, inner, 5_000_000_000 + steps * 10_000_000 + np.arange(5) * 3_000])


@pytest.mark.parametrize("seed", range(20))
def test_clocks_of_one_pace_keep_every_duration(seed: int) -> None:
    start, end, readings = made(window(40), 0.0, seed)
    found = clock_map(start, end, readings)
    times = np.sort(np.random.default_rng(seed).integers(start[0], end[-1], 500))
    assert (np.diff(found(times)) == np.diff(times)).all()
    assert np.abs(found(times) - (times - EPOCH)).max() <= found.uncertainty_ns <= 1000
    assert found.drift == 0.0


@pytest.mark.parametrize("pace", [0.005, -0.005, 0.0002])
@pytest.mark.parametrize("seed", range(5))
def test_a_clock_that_runs_fast_or_slow_is_followed(pace: float, seed: int) -> None:
    true = window(40)
    start, end, readings = made(true, pace, seed, interrupted=20)
    found = clock_map(start, end, readings)
    ours = np.sort(np.random.default_rng(seed).integers(true[0], true[-1], 500))
    theirs = EPOCH + ours + np.rint((ours - true[0]) * pace).astype(np.int64)
    assert np.abs(found(theirs) - ours).max() <= found.uncertainty_ns <= 4000
    assert (np.diff(found(theirs)) >= 0).all()
    assert found.drift == pytest.approx(pace, rel=0.05)


def test_a_change_of_pace_between_records_counts_as_uncertainty() -> None:
    true = window(10)
    start, end, readings = made(true, 0.0, 0)
    bent = np.where(np.arange(len(true)) >= 8, 400_000, 0)
    found = clock_map(start + bent, end + bent, readings)
    assert found.uncertainty_ns >= 150_000


def test_records_without_readings_are_refused() -> None:
    start, end, readings = made(window(3), 0.0, 0)
    with pytest.raises(ValueError, match="12 clock records in the trace, 11 noted"):
        clock_map(start, end, readings[:-1])
    with pytest.raises(ValueError, match="0 clock records"):
        clock_map(start[:0], end[:0], readings[:0])
