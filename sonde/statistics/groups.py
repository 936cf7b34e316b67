"""Two independent groups of repetitions compared by their means, many rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.statistics.interval import F64
from sonde.statistics.student import t_quantile, t_two_sided


@dataclass(frozen=True)
class Welch:
    """Means of two independent groups compared: difference (B - A), its 95 % interval and p, per row."""

    difference: F64
    low: F64
    high: F64
    p: F64
    detectable: F64  # the smallest difference that would be seen with 80 % power


def welch(a: F64, b: F64, alpha: float = 0.05) -> Welch:
    """Rows of repetitions against rows of repetitions, by Welch's t.

    With a single repetition on a side nothing is known about its spread: the interval is infinite, p is 1.
    """
    rows, m, n = a.shape[0], a.shape[1], b.shape[1]
    difference = b.mean(axis=1) - a.mean(axis=1)
    if m < 2 or n < 2:
        infinite = np.full(rows, np.inf)
        return Welch(difference, -infinite, infinite, np.ones(rows), infinite)
    part_a, part_b = a.var(axis=1, ddof=1) / m, b.var(axis=1, ddof=1) / n
    error = np.sqrt(part_a + part_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (part_a + part_b) ** 2 / (part_a**2 / (m - 1) + part_b**2 / (n - 1))
        t = np.abs(difference) / error
    # Rounding down is the careful side, and leaves few distinct quantiles to find.
    whole = np.maximum(np.floor(np.nan_to_num(freedom, nan=1.0, posinf=1.0)), 1).astype(np.int64)
    reach = np.array([t_quantile(1 - alpha / 2, int(f)) for f in whole]) * error
    power = np.array([t_quantile(0.8, int(f)) for f in whole]) * error
    p = np.array([t_two_sided(float(x), float(f)) for x, f in zip(t, whole, strict=True)])
    # No spread at all (a count that never changes): any difference is certain, none is none.
    p = np.where(error > 0, p, np.where(difference != 0, 0.0, 1.0))
    return Welch(difference, difference - reach, difference + reach, p, reach + power)
