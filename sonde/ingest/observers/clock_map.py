"""From a profiler's clock to CLOCK_MONOTONIC, by moments that both clocks know.

In: clock records, each an empty record of the profiler between two readings of our clock: it bounds
the offset from both sides. Out: what to add to any of the profiler's times.

One constant is taken when it lies inside all bounds, so that durations stay those of the profiler to the
nanosecond. Torch's clock is the processor's counter, scaled by two short measurements at the window's
ends; when these were disturbed (a loaded machine), its times run fast or slow by some tenths of a percent, which
is milliseconds over a window. Then the offset runs from record to record, and durations are
corrected with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.columns import Array

# Bounds may cross by so much before a constant is given up: the profiler rounds, and so do we.
CROSSING_NS = 2_000
# A record that was interrupted bounds too loosely to bend the clock by it.
LOOSE = 4.0  # times the tightest width
LEAST_LOOSE_NS = 5_000


@dataclass(frozen=True)
class ClockMap:
    """`offset_ns` at `at_ns` of the profiler's clock, straight lines between, constant beyond."""

    at_ns: Array
    offset_ns: Array
    uncertainty_ns: int

    @property
    def drift(self) -> float:
        """How much faster (> 0) the profiler's clock ran than ours, as a share; 0 for a constant offset."""
        if len(self.at_ns) < 2:
            return 0.0
        return -float(self.offset_ns[-1] - self.offset_ns[0]) / float(self.at_ns[-1] - self.at_ns[0])

    def __call__(self, times_ns: Array) -> Array:
        """The profiler's times on our clock."""
        if len(self.at_ns) < 2:
            return np.asarray(times_ns + self.offset_ns[0])
        # Relative to the first record: a double holds nanoseconds of a window, not of an epoch.
        base, first = self.at_ns[0], self.offset_ns[0]
        moved = np.interp(times_ns - base, self.at_ns - base, self.offset_ns - first)
        return np.asarray(times_ns + first + np.rint(moved).astype(np.int64))


def clock_map(start_ns: Array, end_ns: Array, readings: Array) -> ClockMap:
    """From the records (on the profiler's clock, in order) and our readings (before, after) around each."""
    if not len(start_ns) or len(start_ns) != len(readings):
        raise ValueError(f"{len(start_ns)} clock records in the trace, {len(readings)} noted")
    lower, upper = (
        readings[:, 0] - start_ns,
        readings[:, 1] - end_ns,
    )  # before <= start + offset; end + offset <= after
    low, high = int(lower.max()), int(upper.min())
    if high - low >= -CROSSING_NS:
        return ClockMap(start_ns[:1], np.array([(low + high) // 2]), (abs(high - low) + 1) // 2)
    width = upper - lower
    tight = width <= max(int(width.min() * LOOSE), LEAST_LOOSE_NS)
    at, offset = start_ns[tight], (lower + width // 2)[tight]
    half = (int(width[tight].max()) + 1) // 2
    return ClockMap(at, offset, half + _bend_ns(at, offset))


def _bend_ns(at: Array, offset: Array) -> int:
    """How far a record lies from the line between its neighbours: what may happen unseen between two of them."""
    if len(at) < 3:
        return 0
    run = (at[2:] - at[:-2]).astype(np.float64)
    between = offset[:-2] + (offset[2:] - offset[:-2]) * ((at[1:-1] - at[:-2]) / np.maximum(run, 1.0))
    return int(np.ceil(np.abs(offset[1:-1] - between).max()))
