"""Nested stretches of time on threads: who encloses whom, and which is innermost at a moment.

In: thread, start and end of each stretch. Out: row numbers. Stretches of one thread
nest or are apart; one that sticks out of its neighbour is taken as apart from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base import call_tree
from sonde.columns import Array
from sonde.errors import InputError

_CIRCLE = "calls enclose each other in a circle; the table of operators is damaged"


def parents(thread: Array, start_ns: Array, end_ns: Array) -> Array:
    """Row of the innermost enclosing stretch on the same thread, -1 at the top."""
    order = np.lexsort((-end_ns, start_ns, thread))
    result = np.full(len(start_ns), -1, np.int64)
    stack: list[tuple[int, int]] = []  # row, end
    current = None
    for row, owner, start, end in zip(
        order.tolist(), thread[order].tolist(), start_ns[order].tolist(), end_ns[order].tolist(), strict=True
    ):
        if owner != current:
            current, stack = owner, []
        while stack and (start >= stack[-1][1] or end > stack[-1][1]):
            # An empty stretch at the very end of another is still inside it.
            if start == end == stack[-1][1]:
                break
            stack.pop()
        if stack:
            result[row] = stack[-1][0]
        stack.append((row, end))
    return result


def depths(parent: Array) -> Array:
    """Number of enclosing stretches of each row; 0 at the top."""
    depth = (parent >= 0).astype(np.int64)
    above = np.append(parent, -1).astype(np.int64)
    depth = np.append(depth, 0)
    # Pointer doubling: after k rounds `above` is the 2**k-th ancestor, so depth costs its logarithm.
    for _ in range(len(above).bit_length() + 1):
        rows = np.flatnonzero(above >= 0)
        if not len(rows):
            return depth[:-1]
        jump = above[rows]
        depth[rows] += depth[jump]
        above[rows] = above[jump]
    raise InputError(_CIRCLE)


def levels(depth: Array) -> Iterator[Array]:
    """Row numbers level by level, from the top down."""
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)) if len(depth) else np.zeros(0, np.int64)
    start = 0
    for end in ends.tolist():
        yield order[start:end]
        start = end


def skip(parent: Array, keep: Array) -> Array:
    """Parents when only the rows in the mask `keep` exist: the nearest kept ancestor."""
    return np.append(nearest(parent, keep), -1)[parent].astype(parent.dtype)


def nearest(parent: Array, keep: Array) -> Array:
    """For each row itself where it is in the mask `keep`, else its nearest ancestor that is; -1 when none is."""
    # Kept rows and the end of all chains (the last entry, which -1 reads) lead to themselves.
    count = len(parent)
    stays = np.append(keep, True)
    leads = np.where(stays, np.arange(count + 1), np.append(parent, -1)).astype(np.int64)
    leads[leads < 0] = count
    for _ in range(count.bit_length() + 1):
        if stays[leads].all():
            return np.where(leads == count, -1, leads)[:-1]
        leads = leads[leads]
    raise InputError(_CIRCLE)


def by_value(values: Array) -> Iterator[tuple[int, Array]]:
    """Each distinct value with its rows, ascending: one sort, however many values there are."""
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, first[1:]), strict=True)


def sum_children(parent: Array, values: Array) -> Array:
    """For each row, the sum of `values` of its direct children."""
    total = np.zeros_like(values)
    inside = parent >= 0
    np.add.at(total, parent[inside], values[inside])
    return total


def sum_up(parent: Array, values: Array) -> Array:
    """For each row, its own value and those of everything inside it."""
    if (
        values.dtype == np.int64 and (parent < np.arange(len(parent))).all()
    ):  # parents come first, as decoders give them
        return call_tree.roll_up(parent, values)
    total = values.copy()
    for rows in reversed(list(levels(depths(parent)))[1:]):
        np.add.at(total, parent[rows], total[rows])
    return total


@dataclass(frozen=True)
class Timeline:
    """What is innermost on one thread from each boundary to the next."""

    boundary_ns: Array
    row: Array

    def at(self, time_ns: Array) -> Array:
        """Row that is innermost at each moment, -1 when none."""
        if not len(self.boundary_ns):
            return np.full(len(time_ns), -1, np.int64)
        found = np.searchsorted(self.boundary_ns, time_ns, side="right") - 1
        return np.where(found >= 0, self.row[np.maximum(found, 0)], -1)


def timeline(rows: Array, start_ns: Array, end_ns: Array, parent: Array) -> Timeline:
    """The timeline of `rows` of one thread, ascending; `parent` (of all rows) says where an end leads back to."""
    lasting = end_ns[rows] > start_ns[rows]
    rows = rows[lasting]
    count = len(rows)
    # Depths among these rows alone: a trace may have as many threads as rows.
    at = np.minimum(np.searchsorted(rows, parent[rows]), max(count - 1, 0))
    depth = depths(np.where(rows[at] == parent[rows], at, -1))
    times = np.concatenate([start_ns[rows], end_ns[rows]])
    states = np.concatenate([rows, parent[rows]])
    starts = np.repeat([1, 0], count)
    # At one moment ends come before starts, inner ends before outer, outer starts before inner:
    # then the last state of the moment is the right one.
    order = np.lexsort((np.concatenate([depth, -depth]), starts, times))
    return Timeline(times[order], states[order])
