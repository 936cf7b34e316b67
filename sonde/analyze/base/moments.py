"""How many independent looks at a program stand behind its samples.

All threads are sampled at the same moments (`native/agent/engine/grid.h`), and a team of threads mostly does the same
thing at a moment: two samples of it say little more than one. So intervals are computed from moments, not from samples.
For recordings whose ticks fall where they like, hardly any samples share a moment, and nothing changes.
"""

from __future__ import annotations

import numpy as np

from sonde.columns import Array

TOGETHER_NS = 500_000  # signals of one tick are delivered within this, late ones of a busy machine mostly too


def moments(time_ns: Array) -> Array:
    """For each sample the number of its moment: samples at most TOGETHER_NS after the first of a moment share it."""
    order = np.argsort(time_ns, kind="stable")
    times = np.asarray(time_ns, np.int64)[order]
    number = np.empty(len(times), np.int64)
    start, current = 0, -1
    # One moment at a time, each found by bisection: as many turns as there are moments, not samples.
    while start < len(times):
        end = int(np.searchsorted(times, times[start] + TOGETHER_NS, "right"))
        current += 1
        number[start:end] = current
        start = end
    found = np.empty(len(times), np.int64)
    found[order] = number
    return found


def weight_squares(moment: Array, weight: Array, key: Array, keys: int) -> Array:
    """Per key the sum over moments of the squared weight: the variance of its total, as looks come at random."""
    if not len(moment):
        return np.zeros(keys)
    size = int(moment.max()) + 1
    pairs, at = np.unique(key.astype(np.int64) * size + moment, return_inverse=True)
    together = np.bincount(at, weight)
    return np.bincount(pairs // size, together**2, keys)


def independent_looks(time_ns: Array, weight: Array) -> float:
    """So many equal independent looks would tell as much of a share as these samples; 0 without any."""
    whole = float(weight.sum())
    if whole <= 0:
        return 0.0
    nothing = np.zeros(len(weight), np.int64)
    return whole**2 / float(weight_squares(moments(time_ns), weight.astype(np.float64), nothing, 1)[0])
