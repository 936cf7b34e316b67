"""Give each sample the operator call that it fell into: same thread, one clock.

A pool worker's sample belongs to the operator of the thread that opened the region.
Only `ops` rows that nest on their thread take part; asynchronous ones do not.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.nesting import skip, timeline
from sonde.columns import Array, Table

KINDS = ("op", "backward", "compiled")


def sample_ops(samples: Table, ops: Table) -> Array:
    """For each row of `samples`, the identity of the innermost operator call, -1 when there is none."""
    result = np.full(len(samples), -1, np.int64)
    if not len(ops) or not len(samples):
        return result
    identity = ops.array("op")
    parent = parent_rows(ops)
    keep = ops.text("kind").matches(KINDS) & ~ops.array("is_async")
    parent = skip(parent, keep)
    owner = samples.array("owner")
    thread = np.where(owner >= 0, owner, samples.array("thread"))
    time_ns = samples.array("time_ns")
    op_thread = ops.array("thread")
    for number in np.intersect1d(np.unique(thread), np.unique(op_thread[keep])):
        rows = np.flatnonzero(keep & (op_thread == number))
        mine = np.flatnonzero(thread == number)
        found = timeline(rows, ops.array("start_ns"), ops.array("end_ns"), parent).at(time_ns[mine])
        result[mine] = np.where(found >= 0, identity[np.maximum(found, 0)], -1)
    return result


def parent_rows(ops: Table) -> Array:
    """The `parent` column of `ops` as row numbers of this very table."""
    return rows_of(ops.array("op"), ops.array("parent"))


def rows_of(identity: Array, wanted: Array) -> Array:
    """Row in which each wanted identity stands, -1 when it is not there."""
    order = np.argsort(identity, kind="stable")
    at = np.searchsorted(identity, wanted, sorter=order)
    at = np.minimum(at, max(len(identity) - 1, 0))
    found = order[at] if len(identity) else np.zeros(len(wanted), np.int64)
    hit = (identity[found] == wanted) & (wanted >= 0) if len(identity) else np.zeros(len(wanted), np.bool_)
    return np.where(hit, found, -1)


def sample_steps(samples: Table, marks: Table, threads: Table) -> Array:
    """For each sample, the `mark` of the step of its process that holds the moment, -1 when none."""
    result = np.full(len(samples), -1, np.int32)
    steps = marks.take(marks.text("kind").equals("step"))
    if not len(steps) or not len(samples):
        return result
    thread_row = rows_of(threads.array("thread"), samples.array("thread"))
    process = np.where(thread_row >= 0, threads.array("process")[np.maximum(thread_row, 0)], -1)
    time_ns = samples.array("time_ns")
    for number in np.unique(steps.array("process")):
        mine = steps.take(steps.array("process") == number)
        mine = mine.take(np.argsort(mine.array("start_ns"), kind="stable"))
        rows = np.flatnonzero(process == number)
        at = np.searchsorted(mine.array("start_ns"), time_ns[rows], side="right") - 1
        inside = (at >= 0) & (time_ns[rows] < mine.array("end_ns")[np.maximum(at, 0)])
        result[rows] = np.where(inside, mine.array("mark")[np.maximum(at, 0)], -1)
    return result
