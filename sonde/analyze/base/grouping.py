"""Grouping of rows by several integer columns, and trees made of parent pointers."""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.nesting import levels
from sonde.columns import Array, Table

_ONE = np.zeros(1, np.int64)


def group(*columns: Array) -> tuple[Array, Array]:
    """Group number of each row, and the first row of each group."""
    key, groups = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low = int(column.min()) if len(column) else 0
        span = (int(column.max()) - low + 1) if len(column) else 1
        if groups * span >= 1 << 62:  # the joined key would overflow: number the groups so far anew
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            groups = int(key.max(initial=0)) + 1
        key = key * span + (column.astype(np.int64) - low)
        groups *= span
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.reshape(-1), first


def rows_of(identity: Array, wanted: Array) -> Array:
    """Row in which each wanted identity stands, -1 where it is -1 or absent."""
    wanted = np.asarray(wanted, np.int64)
    count = len(identity)
    if not count:
        return np.full(len(wanted), -1, np.int64)
    if identity[0] == 0 and identity[-1] == count - 1 and (np.diff(identity) == 1).all():
        return np.where((wanted >= 0) & (wanted < count), wanted, -1)
    order = np.argsort(identity, kind="stable")
    found = order[np.minimum(np.searchsorted(identity, wanted, sorter=order), count - 1)]
    return np.where((wanted >= 0) & (identity[found] == wanted), found, -1).astype(np.int64)


def parent_rows(ops: Table) -> Array:
    """The `parent` column of `ops` as row numbers of this very table."""
    return rows_of(ops.array("op"), ops.array("parent"))


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
        # A chain of calls has one row on each of very many levels.
        inverse, first = group(above, key[rows]) if len(rows) > 1 else (_ONE, _ONE)
        node[rows] = inverse + count
        parents.append(above[first])
        firsts.append(rows[first])
        count += len(first)
    if not parents:
        nothing = np.zeros(0, np.int64)
        return node, nothing, nothing
    return node, np.concatenate(parents), np.concatenate(firsts)
