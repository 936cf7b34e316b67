"""Does memory grow from step to step? A slope with its interval, robust against single outliers.

In: readings of a counter, or running totals, and the steps. Out: `Growth`. The first steps fill caches and pools, so
they do not count: warm-up, and at least a quarter of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.steps.program import warmup_steps
from sonde.columns import Array, Table

FEWEST_VALUES = 5
MOST_VALUES = 400  # pairs grow with the square; four hundred tell the same


@dataclass(frozen=True)
class Growth:
    """Bytes per step, as the median of all slopes between two steps, with a 95 % interval."""

    name: str
    steps: int  # steps that the slope rests on
    slope_bytes: float
    low_bytes: float
    high_bytes: float

    @property
    def grows(self) -> bool:
        """The whole interval lies above zero."""
        return self.low_bytes > 0


def growth(name: str, values: Array, at: Array | None = None) -> Growth | None:
    """Theil–Sen slope per step with Sen's interval; None with fewer than five values.

    `at` is the step of each value, when not every step has one.
    """
    count = len(values)
    if count < FEWEST_VALUES:
        return None
    steps = np.arange(count) if at is None else at
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_VALUES)).astype(np.int64))
    picked, place = values[chosen].astype(np.float64), steps[chosen]
    first, second = np.triu_indices(len(chosen), 1)
    slopes = np.sort((picked[second] - picked[first]) / (place[second] - place[first]))
    n = len(chosen)
    reach = 1.96 * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = int(np.clip((len(slopes) - reach) / 2, 0, len(slopes) - 1))
    high = int(np.clip((len(slopes) + reach) / 2, 0, len(slopes) - 1))
    span = int(place[-1] - place[0]) + 1
    return Growth(name, span, float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def counter_growth(counters: Table, marks: Table, process: int, name: str = "rss_bytes") -> Growth | None:
    """Growth of a counter over the steady steps of one process: one value per reading, at the step it fell into."""
    steps = marks.take(marks.text("kind").equals("step") & (marks.array("process") == process))
    mine = counters.take(counters.text("name").equals(name) & (counters.array("process") == process))
    if not len(mine) or not len(steps):
        return None
    order = np.argsort(steps.array("start_ns"), kind="stable")
    start, end = steps.array("start_ns")[order], steps.array("end_ns")[order]
    skip = max(warmup_steps((end - start).astype(np.float64)), len(start) // 4)
    by_time = np.argsort(mine.array("time_ns"), kind="stable")
    times, values = mine.array("time_ns")[by_time], mine.array("value")[by_time]
    at = np.searchsorted(start, times, side="right") - 1
    inside = (at >= skip) & (times <= end[-1])
    # The last reading of each step; several steps may pass between two readings.
    at, values = at[inside], values[inside]
    last = np.append(at[1:] != at[:-1], True) if len(at) else np.empty(0, np.bool_)
    return growth(name, values[last], at[last])
