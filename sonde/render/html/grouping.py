"""Grouping of rows by several integer columns, and trees made of parent pointers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.columns import Array


def group(*columns: Array) -> tuple[Array, Array]:
    """Group number of each row, and the first row of each group.

    Columns are joined two at a time, so that no combined key can overflow.
    """
    inverse = np.zeros(len(columns[0]), np.int64)
    first = np.zeros(0, np.int64)
    for column in columns:
        low = int(column.min()) if len(column) else 0
        span = (int(column.max()) - low + 1) if len(column) else 1
        _, first, inverse = np.unique(
            inverse * span + (column.astype(np.int64) - low), return_index=True, return_inverse=True
        )
        inverse = inverse.reshape(-1)
    return inverse, first


def rows_of(identities: Array, wanted: Array) -> Array:
    """Row of each wanted identity, -1 where there is none."""
    if not len(identities):
        return np.full(len(wanted), -1, np.int64)
    if np.array_equal(identities, np.arange(len(identities))):
        inside = (wanted >= 0) & (wanted < len(identities))
        return np.where(inside, wanted, -1).astype(np.int64)
    order = np.argsort(identities, kind="stable")
    at = np.minimum(np.searchsorted(identities, wanted, sorter=order), len(identities) - 1)
    rows = order[at]
    return np.where(identities[rows] == wanted, rows, -1).astype(np.int64)


def depths(parent: Array) -> Array:
    """Number of ancestors of each row; parents are row numbers, -1 at the root.

    A row whose chain does not end (a cycle in a damaged recording) is a root.
    """
    depth = (parent >= 0).astype(np.int64)
    above = parent.astype(np.int64)
    # Pointer doubling: after k rounds `above` is the 2**k-th ancestor.
    for _ in range(64):
        rows = np.flatnonzero(above >= 0)
        if not len(rows):
            return depth
        jump = above[rows]
        depth[rows] += depth[jump]
        above[rows] = above[jump]
    depth[above >= 0] = 0
    return depth


def levels(depth: Array) -> Iterator[Array]:
    """Row numbers level by level, from the roots down."""
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)) if len(depth) else np.zeros(0, np.int64)
    start = 0
    for end in ends:
        yield order[start:end]
        start = int(end)


def prefix_tree(parent: Array, depth: Array, key: Array) -> tuple[Array, Array, Array]:
    """Merge nodes that have the same chain of keys.

    Returns the new node of each old one, and parent and first old row of each
    new node. New nodes are numbered from the roots down, so a parent's number
    is always smaller than its child's.
    """
    node = np.full(len(parent), -1, np.int64)
    parents: list[Array] = []
    firsts: list[Array] = []
    count = 0
    for rows in levels(depth):
        above = np.where(parent[rows] >= 0, node[parent[rows]], -1)
        inverse, first = group(above, key[rows])
        node[rows] = inverse + count
        parents.append(above[first])
        firsts.append(rows[first])
        count += len(first)
    if not parents:
        nothing = np.zeros(0, np.int64)
        return node, nothing, nothing
    return node, np.concatenate(parents), np.concatenate(firsts)


def totals(parent: Array, own: Array) -> Array:
    """Own weight plus that of everything below; parents are numbered before children."""
    result: Array = own.astype(np.float64)
    for rows in reversed(list(levels(depths(parent)))):
        below = rows[parent[rows] >= 0]
        np.add.at(result, parent[below], result[below])
    return result
