"""How much two runs of one program differ though nothing was changed, and what follows for one run per side.

In: relative errors inside each run, and runs known to be alike (earlier ones, or several of one side). Out: an
interval of the log ratio of two runs. The scatter is not known from one run each. It starts from a prior and
is corrected by what alike runs show: `PRIOR_RUNS` runs' worth of the prior (a scaled inverse chi-squared).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.statistics.interval import Interval
from sonde.statistics.student import t_quantile, t_two_sided

# Standard deviation of the log of a run's time, of equal runs on a machine that others use. By CPU time 3 to 6 %
# were measured (benchmarks/suites/aa_pairs.py), caches and shared cores being what is left.
PRIOR = 0.05
PRIOR_RUNS = 12
FEWEST_RUNS, MOST_RUNS = 3, 6  # to ask for: six per side tell 8 %, and smaller differences need `sonde prove`


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of the log of a run's time from run to run, and how well it is known."""

    deviation: float
    freedom: int
    runs: int  # runs that it was measured on; 0: the prior alone


def scatter(alike: Sequence[Sequence[float]], prior: float = PRIOR) -> Scatter:
    """From groups of alike runs, each given by the logs of their times; groups of one tell nothing."""
    groups = [np.asarray(group, np.float64) for group in alike if len(group) > 1]
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    freedom = sum(len(group) - 1 for group in groups)
    deviation = np.sqrt((PRIOR_RUNS * prior**2 + squares) / (PRIOR_RUNS + freedom))
    return Scatter(float(deviation), PRIOR_RUNS + freedom, sum(len(group) for group in groups))


def single_runs(
    log_ratio: float, errors: tuple[float, float], between: Scatter, runs: tuple[int, int] = (1, 1)
) -> Interval:
    """95 % interval of the log ratio of two sides, the scatter between runs included."""
    return Interval(
        log_ratio, log_ratio - _reach(errors, between, runs), log_ratio + _reach(errors, between, runs)
    )


def _reach(errors: tuple[float, float], between: Scatter, runs: tuple[int, int]) -> float:
    variance = sum(e**2 + between.deviation**2 / n for e, n in zip(errors, runs, strict=True))
    return t_quantile(0.975, between.freedom) * float(np.sqrt(variance))


def runs_needed(log_ratio: float, between: Scatter) -> int:
    """Runs per side that would tell a difference of this size with 80 % power, within reason."""
    if log_ratio == 0:
        return MOST_RUNS
    wanted = 2 * ((1.96 + 0.84) * between.deviation / abs(log_ratio)) ** 2 + 1
    return int(min(max(np.ceil(wanted), FEWEST_RUNS), MOST_RUNS))


def two_sided(distance: float, error: float, freedom: int) -> float:
    """p of a distance with a standard error known to `freedom`."""
    return t_two_sided(abs(distance) / error, freedom) if error > 0 else float(distance == 0)
