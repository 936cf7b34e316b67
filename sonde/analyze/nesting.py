"""Nested stretches of time on threads: who encloses whom, and which is innermost at a moment.

In: thread, start and end of each stretch. Out: row numbers. Stretches of one thread
nest or are apart; one that sticks out of its neighbour is taken as apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.columns import Array
from sonde.errors import InputError


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
    depth = np.zeros(len(parent), np.int64)
    at = parent.copy()
    inside = at >= 0
    while inside.any():
        if int(depth.max()) > len(parent):
            raise InputError("calls enclose each other in a circle; the table of operators is damaged")
        depth[inside] += 1
        at[inside] = parent[at[inside]]
        inside = at >= 0
    return depth


def skip(parent: Array, keep: Array) -> Array:
    """Parents when only the rows in the mask `keep` exist: the nearest kept ancestor."""
    result = parent.copy()
    for _ in range(len(parent) + 1):
        jump = (result >= 0) & ~keep[np.maximum(result, 0)]
        if not jump.any():
            return result
        result[jump] = parent[result[jump]]
    raise InputError("calls enclose each other in a circle; the table of operators is damaged")


def sum_children(parent: Array, values: Array) -> Array:
    """For each row, the sum of `values` of its direct children."""
    total = np.zeros_like(values)
    inside = parent >= 0
    np.add.at(total, parent[inside], values[inside])
    return total


def sum_up(parent: Array, values: Array) -> Array:
    """For each row, its own value and those of everything inside it."""
    total = values.copy()
    depth = depths(parent)
    for level in range(int(depth.max(initial=0)), 0, -1):
        rows = np.flatnonzero(depth == level)
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
    """The timeline of `rows` of one thread; `parent` (of all rows) says where an end leads back to."""
    lasting = end_ns[rows] > start_ns[rows]
    rows = rows[lasting]
    count = len(rows)
    depth = depths(parent)[rows]
    times = np.concatenate([start_ns[rows], end_ns[rows]])
    states = np.concatenate([rows, parent[rows]])
    starts = np.repeat([1, 0], count)
    # At one moment ends come before starts, inner ends before outer, outer starts before inner:
    # then the last state of the moment is the right one.
    order = np.lexsort((np.concatenate([depth, -depth]), starts, times))
    return Timeline(times[order], states[order])
