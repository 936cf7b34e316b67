"""Give each sample the operator call and the step that it fell into: same thread, one clock.

A pool worker's sample belongs to the operator of the thread that opened the region, except after its end.
Only `ops` rows that nest on their thread take part; asynchronous ones do not.

The profiler stamps an operator's start some way into the call and its end before the call
returns: a sample in between is by time outside of an operator whose frame is on its stack. Where
the stack names another operator than the time, the call that begins next or ended last
under the same parent is taken if it has that name; otherwise time decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.nesting import skip, timeline
from sonde.analyze.ops.table import CALLS
from sonde.analyze.samples.operators_on_stack import stack_operators
from sonde.columns import Array, Table, Text, distinct


def with_sample_ops(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`samples` with the operator call that each fell into."""
    if not all(len(tables.get(name, ())) for name in ("samples", "stacks", "frames", "ops")):
        return {}
    samples = tables["samples"]
    on_stack = stack_operators(samples, tables["stacks"], tables["frames"])
    return {"samples": samples.with_columns(op=sample_ops(samples, tables["ops"], on_stack))}


def with_sample_steps(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`samples` with the step that each fell into."""
    if not all(len(tables.get(name, ())) for name in ("samples", "marks", "threads")):
        return {}
    samples = tables["samples"]
    return {"samples": samples.with_columns(step=sample_steps(samples, tables["marks"], tables["threads"]))}


def sample_ops(samples: Table, ops: Table, on_stack: Text | None = None) -> Array:
    """For each row of `samples`, the identity of the innermost operator call, -1 when there is none.

    `on_stack` is the innermost operator on each sample's stack (see `stack_operators`).
    """
    result = np.full(len(samples), -1, np.int64)
    if not len(ops) or not len(samples):
        return result
    identity = ops.array("op")
    parent = parent_rows(ops)
    keep = ops.text("kind").matches(CALLS) & ~ops.array("is_async")
    parent = skip(parent, keep)
    owner = samples.array("owner")
    # A worker that spins after a region is in no operator, whatever its owner does by then.
    works = (owner >= 0) & ~samples.text("state").equals("spinning")
    thread = np.where(works, owner, samples.array("thread"))
    time_ns = moment_ns(samples)
    op_thread = ops.array("thread")
    for number in np.intersect1d(distinct(thread), distinct(op_thread[keep])):
        rows = np.flatnonzero(keep & (op_thread == number))
        mine = np.flatnonzero(thread == number)
        found = timeline(rows, ops.array("start_ns"), ops.array("end_ns"), parent).at(time_ns[mine])
        if on_stack is not None:
            found = _by_stack(found, on_stack.take(mine), time_ns[mine], rows, ops, parent)
        result[mine] = np.where(found >= 0, identity[np.maximum(found, 0)], -1)
    return result


def moment_ns(samples: Table) -> Array:
    """When each sampled thread went on: nothing that it stamps itself can lie between its sample and then."""
    return samples.array("time_ns") + np.maximum(samples.array("handler_ns"), 0)


def _by_stack(found: Array, on_stack: Text, time_ns: Array, rows: Array, ops: Table, parent: Array) -> Array:
    """Correct rows found by time where the stack names the call just before or after."""
    names = ops.text("name")
    code_of = {name: code for code, name in enumerate(names.values)}
    recode = np.array([code_of.get(name, -2) for name in on_stack.values] + [-1], np.int64)
    wanted = recode[on_stack.codes]
    by_time = np.where(found >= 0, names.codes[np.maximum(found, 0)], -1)
    doubtful = np.flatnonzero((wanted >= 0) & (wanted != by_time))
    result = found.copy()
    start, end = ops.array("start_ns"), ops.array("end_ns")
    begins, ends = rows[np.argsort(start[rows], kind="stable")], rows[np.argsort(end[rows], kind="stable")]
    next_at = np.searchsorted(start[begins], time_ns[doubtful], side="right")
    last_at = np.searchsorted(end[ends], time_ns[doubtful], side="right") - 1
    for order, at in ((ends, last_at), (begins, next_at)):
        inside = (at >= 0) & (at < len(order))
        candidate = order[np.clip(at, 0, len(order) - 1)]
        fits = inside & (names.codes[candidate] == wanted[doubtful]) & (parent[candidate] == found[doubtful])
        result[doubtful[fits]] = candidate[fits]
    return result


def sample_steps(samples: Table, marks: Table, threads: Table) -> Array:
    """For each sample, the `mark` of the step of its process that holds the moment, -1 when none."""
    result = np.full(len(samples), -1, np.int32)
    steps = marks.take(marks.text("kind").equals("step"))
    if not len(steps) or not len(samples):
        return result
    thread_row = rows_of(threads.array("thread"), samples.array("thread"))
    process = np.where(thread_row >= 0, threads.array("process")[np.maximum(thread_row, 0)], -1)
    time_ns = samples.array("time_ns")
    for number in distinct(steps.array("process")):
        mine = steps.take(steps.array("process") == number)
        mine = mine.take(np.argsort(mine.array("start_ns"), kind="stable"))
        rows = np.flatnonzero(process == number)
        at = np.searchsorted(mine.array("start_ns"), time_ns[rows], side="right") - 1
        inside = (at >= 0) & (time_ns[rows] < mine.array("end_ns")[np.maximum(at, 0)])
        result[rows] = np.where(inside, mine.array("mark")[np.maximum(at, 0)], -1)
    return result
