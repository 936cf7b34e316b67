"""The exact (Clopper–Pearson) interval of a share of trials."""

from __future__ import annotations

from sonde.statistics.student import incomplete_beta


def interval_of_share(hits: int, trials: int, alpha: float = 0.05) -> tuple[float, float]:
    """Where the true share lies with 95 % confidence, by inverting the binomial test."""
    low = 0.0 if hits == 0 else _solve(lambda p: incomplete_beta(hits, trials - hits + 1, p), alpha / 2)
    high = (
        1.0
        if hits == trials
        else _solve(lambda p: incomplete_beta(hits + 1, trials - hits, p), 1 - alpha / 2)
    )
    return low, high


def _solve(rising: object, target: float) -> float:
    assert callable(rising)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
