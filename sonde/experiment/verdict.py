"""From paired log ratios to a word: faster, slower, same, or not known yet.

Looks at the data are planned: after 6, 10, 16 and 24 pairs. Peeking whenever one
likes at 5 % calls a difference in 16 % of A/A trials; at four planned looks each
may spend ALPHA_PER_LOOK, which keeps the whole at 5 % (Pocock's boundary; measured by
`benchmarks/statistics`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.experiment.statistics import F64, Interval, confidence_interval, pairs_needed

LOOKS = (6, 10, 16, 24)  # pairs
ALPHA_PER_LOOK = 0.0182  # Pocock, 4 looks, two-sided 5 % in all
SMALLEST_CLAIM = 0.01  # differences below 1 % are never claimed: no machine is that quiet
# With 6 pairs the smallest possible p is 2/64 = 3 %, above what one look may spend: that first
# look can only stop for equivalence. It is kept because it is when a clear "same" shows.


@dataclass(frozen=True)
class Verdict:
    """What a comparison says. `word`: faster, slower, same or inconclusive (B against A)."""

    word: str
    ratio: Interval  # t_B / t_A, with a 95 % interval over all looks
    pairs: int
    noise_floor: float  # relative; differences below it are not claimed
    more_pairs: int  # when inconclusive: pairs that would probably tell, else 0
    reason: str


def judge(differences: F64, noise_floor: float = SMALLEST_CLAIM) -> Verdict:
    """The verdict on all pairs so far. `noise_floor` is the A/A half-width, as a relative difference."""
    floor = max(noise_floor, SMALLEST_CLAIM)
    interval = confidence_interval(differences, ALPHA_PER_LOOK)
    edge = float(np.log1p(floor))
    count = len(differences)
    ratio = interval.exp()
    if interval.high < 0 and interval.estimate < -edge:
        return Verdict("faster", ratio, count, floor, 0, "the interval lies below 1")
    if interval.low > 0 and interval.estimate > edge:
        return Verdict("slower", ratio, count, floor, 0, "the interval lies above 1")
    if -edge <= interval.low and interval.high <= edge:
        return Verdict("same", ratio, count, floor, 0, f"any difference is below {floor:.1%}")
    wanted = max(abs(interval.estimate), edge)
    more = max(2, pairs_needed(differences, wanted) - count)
    return Verdict("inconclusive", ratio, count, floor, more, f"about {more} more pairs would tell")


def noise_floor_of(differences: F64) -> float:
    """From A/A pairs: the half-width of the 95 % interval, as a relative difference."""
    interval = confidence_interval(differences, 0.05)
    reach = max(abs(interval.low), abs(interval.high))
    return float(np.expm1(reach)) if np.isfinite(reach) else float("inf")
