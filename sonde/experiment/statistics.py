"""Is B different from A? Paired log ratios, with answers that hold when the machine drifts.

Everything here works on d_i = ln(t_B / t_A) of pairs measured close together in
random order. Under "no difference" each d_i is as likely as -d_i, whatever the
drift, the noise or its distribution: that symmetry alone carries the test.
Facts behind the choices: comparing "all A, then all B" calls a difference in
26-54 % of A/A trials on a drifting machine; sign flips of pairs stay at 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

EXACT_UP_TO_PAIRS = 12  # 2**12 sign patterns are enumerated; beyond that they are drawn
DRAWN_FLIPS = 4_000
TRIM_SHARE = 0.10  # a spike in one pair must not decide


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; of the ratio t_B / t_A unless said otherwise."""

    estimate: float
    low: float
    high: float

    def exp(self) -> Interval:
        return Interval(float(np.exp(self.estimate)), float(np.exp(self.low)), float(np.exp(self.high)))


def trimmed_mean(rows: F64) -> F64:
    """Mean along the last axis without the most extreme TRIM_SHARE on each side."""
    count = rows.shape[-1]
    cut = int(count * TRIM_SHARE)
    kept = np.sort(rows, axis=-1)[..., cut : count - cut] if cut else rows
    return np.asarray(kept.mean(axis=-1), np.float64)


def sign_flips(count: int, seed: int) -> F64:
    """Rows of ±1: every pattern for few pairs, random ones (the observed first) for many."""
    if count <= EXACT_UP_TO_PAIRS:
        bits = np.arange(1 << count, dtype=np.int64)[:, None] >> np.arange(count) & 1
        return np.asarray(1.0 - 2.0 * bits, np.float64)
    bits = np.random.default_rng(seed).integers(0, 2, (DRAWN_FLIPS, count))
    drawn = np.asarray(1.0 - 2.0 * bits, np.float64)
    drawn[0] = 1.0
    return drawn


def sign_flip_p(differences: F64, center: float = 0.0, seed: int = 0) -> float:
    """Two-sided p of "the differences are symmetric about `center`"."""
    shifted = np.asarray(differences, np.float64) - center
    observed = abs(float(trimmed_mean(shifted[None, :])[0]))
    flipped = np.abs(trimmed_mean(sign_flips(len(shifted), seed) * shifted))
    # A hair below, so that a pattern equal to the observed one counts in spite of rounding.
    return float(np.mean(flipped >= observed * (1 - 1e-12)))


def hodges_lehmann(differences: F64) -> float:
    """Median of all pairwise means: as robust as the median, nearly as sharp as the mean."""
    values = np.asarray(differences, np.float64)
    rows, columns = np.triu_indices(len(values))
    return float(np.median((values[rows] + values[columns]) / 2))


def confidence_interval(differences: F64, alpha: float, seed: int = 0) -> Interval:
    """All centers that the sign-flip test does not reject at `alpha`, by bisection on both sides.

    With so few pairs that nothing could be rejected the interval is infinite: the honest answer.
    """
    values = np.asarray(differences, np.float64)
    estimate = hodges_lehmann(values)
    flips = sign_flips(len(values), seed)
    if 2.0 / len(flips) > alpha:
        return Interval(estimate, -np.inf, np.inf)

    def rejected(center: float) -> bool:
        shifted = values - center
        observed = abs(float(trimmed_mean(shifted[None, :])[0]))
        return float(np.mean(np.abs(trimmed_mean(flips * shifted)) >= observed * (1 - 1e-12))) <= alpha

    span = float(np.ptp(values)) or 1e-12
    return Interval(estimate, _edge(rejected, estimate, -span), _edge(rejected, estimate, span))


def _edge(rejected: object, inside: float, step: float) -> float:
    """The border between kept and rejected centers in the direction of `step`."""
    assert callable(rejected)
    outside = inside + step
    for _ in range(30):
        if rejected(outside):
            break
        outside += step
    else:
        return float(np.copysign(np.inf, step))
    for _ in range(16):  # to a 60,000th of the spread
        middle = (inside + outside) / 2
        if rejected(middle):
            outside = middle
        else:
            inside = middle
    return outside


def benjamini_hochberg(p_values: F64, rate: float = 0.05) -> npt.NDArray[np.bool_]:
    """Which of many hypotheses to reject so that at most `rate` of the rejected are wrong on average."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    passes = p[order] <= rate * np.arange(1, len(p) + 1) / len(p)
    keep = np.zeros(len(p), np.bool_)
    if passes.any():
        keep[order[: np.flatnonzero(passes)[-1] + 1]] = True
    return keep


def pairs_needed(differences: F64, effect: float) -> int:
    """Pairs for 80 % power at 5 % to see a log ratio of `effect`, from the scatter seen so far."""
    values = np.asarray(differences, np.float64)
    # 1.4826 x median absolute deviation estimates the standard deviation without minding spikes.
    sigma = 1.4826 * float(np.median(np.abs(values - np.median(values)))) or float(values.std())
    return max(6, int(np.ceil(((1.96 + 0.84) * sigma / effect) ** 2))) if effect > 0 else 10**9


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


def t_two_sided(t: float, freedom: float) -> float:
    """Chance of |T| >= t under Student's distribution."""
    if not math.isfinite(t):
        return 0.0 if t > 0 else 1.0
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: int) -> float:
    """The value below which `share` (above a half) of Student's distribution lies."""
    low, high = 0.0, 2.0
    while 1 - t_two_sided(high, freedom) / 2 < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if 1 - t_two_sided(middle, freedom) / 2 < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below
        return 1.0 - incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / ((1 + numerator * d) or tiny)
            c = (1 + numerator / c) or tiny
            result *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return math.exp(log_front) / a * result
