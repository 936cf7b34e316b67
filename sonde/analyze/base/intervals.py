"""Sets of time as sorted, disjoint, half-open stretches [start, end) of integer nanoseconds.

Enters: any int64 arrays of starts and ends, unsorted, overlapping, empty.
Leaves: `Spans`, on which union, intersection, subtraction and measure are exact.
Invariant of `Spans`: starts[i] < ends[i] < starts[i+1]; touching stretches are merged.
Everything is sorting and binary search: n log n, no Python work per stretch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Spans:
    """Disjoint stretches of time, ascending. Make one with `union`."""

    starts: Times
    ends: Times

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def total_ns(self) -> int:
        """How much time the stretches cover."""
        return int((self.ends - self.starts).sum())

    @property
    def lengths_ns(self) -> Times:
        return self.ends - self.starts

    def until(self, times: npt.ArrayLike) -> Times:
        """For each t, how much of (-inf, t) is covered. Differences of two give any window."""
        at = np.asarray(times, np.int64)
        if not len(self):
            return np.zeros(at.shape, np.int64)
        cumulative = np.concatenate(([0], np.cumsum(self.lengths_ns)))
        index = np.searchsorted(self.starts, at, "right")
        inside = np.minimum(at, self.ends[index - 1]) - self.starts[index - 1]
        return np.where(index == 0, 0, cumulative[index - 1] + inside).astype(np.int64)

    def within(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Times:
        """For each window, how much of it is covered."""
        return self.until(ends) - self.until(starts)


NOTHING = Spans(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: npt.ArrayLike, ends: npt.ArrayLike) -> Spans:
    """The time covered by at least one stretch. Stretches that end before they start cover nothing."""
    first, last = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    keep = last > first
    if not keep.all():
        first, last = first[keep], last[keep]
    if not len(first):
        return NOTHING
    if (np.diff(first) < 0).any():
        order = np.argsort(first, kind="stable")
        first, last = first[order], last[order]
    reach = np.maximum.accumulate(last)
    opens = np.concatenate(([True], first[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return Spans(first[opens], reach[closes])


def window(start_ns: int, end_ns: int) -> Spans:
    """One stretch."""
    return union([start_ns], [end_ns])


def both(a: Spans, b: Spans) -> Spans:
    """The union of two sets."""
    return union(np.concatenate((a.starts, b.starts)), np.concatenate((a.ends, b.ends)))


def intersect(a: Spans, b: Spans) -> Spans:
    """The time in both sets."""
    if not len(a) or not len(b):
        return NOTHING
    low = np.searchsorted(b.ends, a.starts, "right")
    high = np.searchsorted(b.starts, a.ends, "left")
    count = np.maximum(high - low, 0)
    of_a = np.repeat(np.arange(len(a)), count)
    # 0, 1, … count-1 for each stretch of `a`, added to its first partner in `b`.
    rank = np.arange(len(of_a)) - np.repeat(np.cumsum(count) - count, count)
    of_b = low[of_a] + rank
    return Spans(
        np.maximum(a.starts[of_a], b.starts[of_b]),
        np.minimum(a.ends[of_a], b.ends[of_b]),
    )


def complement(a: Spans, start_ns: int, end_ns: int) -> Spans:
    """The time of [start_ns, end_ns) outside the set."""
    inside = intersect(a, window(start_ns, end_ns))
    starts = np.concatenate(([start_ns], inside.ends))
    ends = np.concatenate((inside.starts, [end_ns]))
    keep = ends > starts
    return Spans(starts[keep].astype(np.int64), ends[keep].astype(np.int64))


def subtract(a: Spans, b: Spans) -> Spans:
    """The time in the first set and not in the second."""
    if not len(a) or not len(b):
        return a
    return intersect(a, complement(b, int(a.starts[0]), int(a.ends[-1])))


def depth(starts: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Times, Times]:
    """How many stretches are open from each moment on: (times ascending and distinct, depth after it).

    A stretch that ends before it starts counts from its end to its start as -1, so
    callers that want no negative depth must order the two first.
    """
    first, last = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    times = np.concatenate((first, last))
    step = np.concatenate((np.ones(len(first), np.int64), -np.ones(len(last), np.int64)))
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(step[order])
    last_of_time = np.concatenate((times[1:] != times[:-1], [True])) if len(times) else np.empty(0, bool)
    return times[last_of_time], level[last_of_time]
