"""Is B different from A? Paired log ratios, with answers that hold when the machine drifts.

Everything here works on d_i = ln(t_B / t_A) of pairs measured close together in
random order. Under "no difference" each d_i is as likely as -d_i, whatever the
drift, the noise or its distribution: that symmetry alone carries the test.
Facts behind the choices: comparing "all A, then all B" calls a difference in
26-54 % of A/A trials on a drifting machine; sign flips of pairs stay at 5 %.
"""

from __future__ import annotations

import numpy as np

from sonde.statistics.interval import F64, Interval

EXACT_UP_TO_PAIRS = 12  # 2**12 sign patterns are enumerated; beyond that they are drawn
DRAWN_FLIPS = 4_000
TRIM_SHARE = 0.10  # a spike in one pair must not decide


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


def pairs_needed(differences: F64, effect: float) -> int:
    """Pairs for 80 % power at 5 % to see a log ratio of `effect`, from the scatter seen so far."""
    values = np.asarray(differences, np.float64)
    # 1.4826 x median absolute deviation estimates the standard deviation without minding spikes.
    sigma = 1.4826 * float(np.median(np.abs(values - np.median(values)))) or float(values.std())
    return max(6, int(np.ceil(((1.96 + 0.84) * sigma / effect) ** 2))) if effect > 0 else 10**9
