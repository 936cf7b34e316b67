"""From paired log ratios to a word: faster, slower, same, or not known yet.

Looks at the data are planned: after 8, 12, 16 and 24 pairs. Peeking whenever one
likes at 5 % calls a difference in 16 % of A/A trials; at four planned looks each
may spend ALPHA_PER_LOOK, which keeps the whole at 5 % (Pocock's boundary; measured by
`benchmarks/suites/statistics.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.statistics.interval import F64, Interval
from sonde.statistics.pairs import confidence_interval, pairs_needed
from sonde.statistics.student import t_quantile

LOOKS = (8, 12, 16, 24)  # pairs; with fewer than 7 the smallest possible p is above what one look may spend
ALPHA_PER_LOOK = 0.0182  # Pocock, 4 looks, two-sided 5 % in all
SMALLEST_CLAIM = 0.01  # differences below 1 % are never claimed: no machine is that quiet
EQUIVALENT_WITHIN = 0.02  # an interval inside this (or inside the noise floor, if larger) is called the same
MEDIAN_TO_DEVIATION = 1.4826  # of a normal distribution: from the median distance to the standard deviation
LARGEST_EQUIVALENCE = 0.10  # "the same within 30 %" says nothing: on such a machine the answer is "not known"


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
    margin = float(np.log1p(min(max(floor, EQUIVALENT_WITHIN), LARGEST_EQUIVALENCE)))
    if -margin <= interval.low and interval.high <= margin:
        reach = float(np.expm1(max(-interval.low, interval.high)))
        return Verdict("same", ratio, count, floor, 0, f"any difference is below {reach:.1%}")
    wanted = max(abs(interval.estimate), min(edge, margin))
    more = max(2, pairs_needed(differences, wanted) - count)
    return Verdict("inconclusive", ratio, count, floor, more, f"about {more} more pairs would tell")


def noise_floor_of(differences: F64, planned_pairs: int = LOOKS[-1]) -> float:
    """From A/A pairs: the half-width of the 95 % interval that `planned_pairs` would have, relative.

    A few A/A pairs tell how far apart equal launches lie; a whole experiment averages over more of them. Their
    middle is known to be 0, and their spread is taken from the median distance to it: with one spike among six pairs
    (0.80 of a conv net) the standard deviation made a floor of 7 %, which hid a gain of 3 % seen in every pair.
    """
    if len(differences) < 3:
        return float("inf")
    spread = MEDIAN_TO_DEVIATION * float(np.median(np.abs(differences)))
    quantile = t_quantile(0.975, len(differences) - 1)
    return float(np.expm1(quantile * spread / np.sqrt(planned_pairs)))
