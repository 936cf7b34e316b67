"""The operator table that users of torch.profiler know: calls, self and total time, memory.

In: `ops` (and `memory`, `kernels`, `marks`, `threads`, `samples` where there are). Out: one row per
group with calls, total and self times, memory and device time. With samples, `self_ns` and `total_ns` are without the
time in which the thread was ready but off the CPU (`sonde.analyze.ops.taken`); `*_wall_ns` hold it. Grouped by name the
rows equal `key_averages()`, by shape `key_averages(group_by_input_shape=True)`:
an operator that does nothing but call its namesake counts once, bookkeeping
operators of the profiler are left out, and memory outside every operator is `[memory]`.

Totals of nested groups overlap (as in torch.profiler); self times never do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.nesting import parents, skip, sum_children, sum_up, timeline
from sonde.analyze.ops.taken import MARKED_NS, taken_from_calls
from sonde.columns import Array, Column, Interner, Table, Text, distinct
from sonde.errors import UsageError

GROUPINGS = ("name", "shape", "module", "line", "thread", "phase")
CALLS = ("op", "backward", "compiled")
PRINTED = (
    "printed"  # a call whose libraries printed theirs (`sonde.link.printed_calls`): in no table of times
)
KINDS = (*CALLS, "annotation")
# What torch.profiler itself leaves out of its tables.
BOOKKEEPING = (
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
)
MEMORY_ROW = "[memory]"


def op_table(
    ops: Table,
    memory: Table | None = None,
    kernels: Table | None = None,
    marks: Table | None = None,
    threads: Table | None = None,
    by: str = "name",
    samples: Table | None = None,
) -> Table:
    """One row per group, largest self time first.

    Columns: name, key (the group beside the name), kind (of its first call), calls,
    preempted (calls from which much time was taken),
    total_ns, self_ns, total_wall_ns, self_wall_ns, cpu_mem_bytes,
    self_cpu_mem_bytes, device_mem_bytes, self_device_mem_bytes, device_total_ns, device_self_ns, flops,
    group (its number in `op_groups` of the same arguments, -1 for a row that is no group of calls).
    """
    if by not in GROUPINGS:
        raise UsageError(f"no grouping {by!r}", "use one of " + ", ".join(GROUPINGS))
    rows, parent = counted(ops)
    groups = op_groups(ops, by, marks, threads, rows, parent)
    duration = ops.array("end_ns") - ops.array("start_ns")
    duration = np.where(ops.array("is_async"), 0, duration)
    counts_as = np.where(rows, np.arange(len(ops)), parent)
    own_device = device_time_caused(ops, kernels, counts_as)
    taken = _taken(ops, samples, counts_as)
    own = duration - sum_children(parent, np.where(rows, duration, 0))
    figures = {
        "total_ns": duration - sum_up(parent, taken),
        "self_ns": own - taken,
        "total_wall_ns": duration,
        "self_wall_ns": own,
        "preempted": (taken >= MARKED_NS).astype(np.int64),
        "device_self_ns": own_device,
        "device_total_ns": sum_up(parent, own_device),
    }
    for name in ("cpu_mem_bytes", "device_mem_bytes"):
        inclusive = ops.array(name)
        figures[name] = inclusive
        figures["self_" + name] = inclusive - sum_children(parent, np.where(rows, inclusive, 0))
    kept, count = np.flatnonzero(rows), len(groups.name)
    group = groups.of_row[kept]
    flops = ops.array("flops")[kept]
    counts = np.bincount(group, weights=np.nan_to_num(flops), minlength=count)
    told = np.bincount(group, weights=np.isfinite(flops), minlength=count) > 0
    columns: dict[str, Column] = {
        "name": groups.name,
        "key": groups.key,
        "kind": groups.kind,
        "calls": np.bincount(group, minlength=count),
        "flops": np.where(told, counts, np.nan),  # of the calls whose FLOPs are known; NaN: of none
        "group": np.arange(count),
    }
    for name, values in figures.items():
        total = np.zeros(count, np.int64)
        np.add.at(total, group, values[kept])
        columns[name] = total
    table = Table("op_table", columns)
    table = table.take(np.argsort(-table.array("self_ns"), kind="stable"))
    return _with_free_memory(table, memory) if by in ("name", "shape") else table


def _taken(ops: Table, samples: Table | None, counts_as: Array) -> Array:
    """What was taken from each counted call; that of a row which does not count goes to `counts_as`."""
    total = np.zeros(len(ops), np.int64)
    if samples is not None:
        inside = counts_as >= 0
        np.add.at(total, counts_as[inside], taken_from_calls(ops, samples)[inside])
    return total


def counted(ops: Table) -> tuple[Array, Array]:
    """Mask of the rows that count as calls, and the parents among them as row numbers."""
    parent = parent_rows(ops)
    names = ops.text("name")
    rows = ops.text("kind").matches(KINDS) & ~names.matches(BOOKKEEPING)
    nests = rows & ~ops.array("is_async")
    parent = np.where(nests, skip(parent, nests), -1)
    inside = parent >= 0
    children = np.bincount(parent[inside & rows], minlength=len(ops))
    above = np.maximum(parent, 0)
    # A call whose only child has its name is one call (a Python wrapper, a redispatch).
    twin = inside & (names.codes == names.codes[above]) & (children[above] == 1)
    rows = rows & ~twin
    return rows, skip(parent, rows)


@dataclass(frozen=True)
class Groups:
    """Groups of calls: name, key and kind of each, and the group of each row of `ops` (-1: in none)."""

    name: Text
    key: Text
    kind: Text
    of_row: Array


def op_groups(
    ops: Table,
    by: str,
    marks: Table | None = None,
    threads: Table | None = None,
    rows: Array | None = None,
    parent: Array | None = None,
) -> Groups:
    """The groups of the table; a row that does not count is in the group of the call around it."""
    if rows is None or parent is None:
        rows, parent = counted(ops)
    kept = np.flatnonzero(rows)
    key, names = _key(ops, by, marks, threads).take(kept), ops.text("name").take(kept)
    pair = names.codes.astype(np.int64) * (len(key.values) + 1) + key.codes + 1
    _, first, group = np.unique(pair, return_index=True, return_inverse=True)
    of_row = np.full(len(ops) + 1, -1, np.int64)
    of_row[kept] = group
    counts_as = np.where(rows, np.arange(len(ops)), parent)
    return Groups(names.take(first), key.take(first), ops.text("kind").take(kept[first]), of_row[counts_as])


def device_time_caused(ops: Table, kernels: Table | None, counts_as: Array) -> Array:
    """Device time that each call caused itself; that of a row which does not count goes to `counts_as`."""
    total = np.zeros(len(ops), np.int64)
    if kernels is not None and len(kernels):
        work = kernels.text("kind").matches(("kernel", "memcpy", "memset"))
        at = rows_of(ops.array("op"), kernels.array("op"))
        at = np.where(at >= 0, counts_as[np.maximum(at, 0)], -1)
        linked = work & (at >= 0)
        np.add.at(total, at[linked], (kernels.array("end_ns") - kernels.array("start_ns"))[linked])
    return total


def _key(ops: Table, by: str, marks: Table | None, threads: Table | None) -> Text:
    if by == "name":
        return Text.full(len(ops), None)
    if by == "shape":
        return ops.text("shapes")
    if by == "module":
        return ops.text("module")
    if by == "thread":
        return _thread_names(ops, threads)
    if by == "line":
        files, intern = ops.text("file"), Interner()
        codes = [
            intern(None if name is None else f"{name}:{line}")
            for name, line in zip(files.tolist(), ops.array("line").tolist(), strict=True)
        ]
        return Text(np.asarray(codes, np.int32), intern.values)
    return op_phases(ops, marks, threads)


def op_phases(ops: Table, marks: Table | None, threads: Table | None) -> Text:
    """The phase (forward, backward, optimizer, …) that holds each op's middle, by its process's marks.

    The middle, because the optimizer's own record begins a moment before its phase.
    """
    codes = np.full(len(ops), -1, np.int32)
    if marks is None or not len(marks):
        return Text(codes, [])
    phases = marks.take(marks.text("kind").equals("phase"))
    names = phases.text("name")
    process = _op_process(ops, threads)
    for number in distinct(phases.array("process")):
        rows = np.flatnonzero(phases.array("process") == number)
        start, end = phases.array("start_ns"), phases.array("end_ns")
        one_thread = np.zeros(len(phases), np.int64)
        parent = np.full(len(phases), -1, np.int64)
        inner = parents(one_thread[rows], start[rows], end[rows])
        parent[rows] = np.where(inner >= 0, rows[np.maximum(inner, 0)], -1)
        mine = np.flatnonzero(process == number)
        middle = (ops.array("start_ns")[mine] + ops.array("end_ns")[mine]) // 2
        found = timeline(rows, start, end, parent).at(middle)
        codes[mine] = np.where(found >= 0, names.codes[np.maximum(found, 0)], -1)
    return Text(codes, names.values)


def _op_process(ops: Table, threads: Table | None) -> Array:
    if threads is None or not len(threads):
        return np.zeros(len(ops), np.int64)
    at = rows_of(threads.array("thread"), ops.array("thread"))
    return np.where(at >= 0, threads.array("process")[np.maximum(at, 0)], -1)


def _thread_names(ops: Table, threads: Table | None) -> Text:
    numbers, code = np.unique(ops.array("thread"), return_inverse=True)
    names = {}
    if threads is not None:
        for number, tid, name in zip(
            threads.array("thread").tolist(),
            threads.array("tid").tolist(),
            threads.text("name").tolist(),
            strict=True,
        ):
            names[number] = f"{name or 'thread'} {tid}"
    return Text(code.astype(np.int32), [names.get(n, f"thread {n}") for n in numbers.tolist()])


def _with_free_memory(table: Table, memory: Table | None) -> Table:
    """Add the row of allocations that no operator made."""
    if memory is None or not len(memory):
        return table
    outside = memory.take(memory.array("op") < 0)
    if not len(outside):
        return table
    on_cpu = outside.text("device").equals("cpu")
    size = outside.array("bytes")
    row: dict[str, Column] = {}
    figures = {
        "calls": len(outside),
        "group": -1,
        "cpu_mem_bytes": int(size[on_cpu].sum()),
        "self_cpu_mem_bytes": int(size[on_cpu].sum()),
        "device_mem_bytes": int(size[~on_cpu].sum()),
        "self_device_mem_bytes": int(size[~on_cpu].sum()),
        "flops": np.nan,
    }
    for name, column in table.columns.items():
        if isinstance(column, Text):
            extra = Text.of([MEMORY_ROW if name == "name" else None])
            row[name] = Text.concat([column, extra])
        else:
            row[name] = np.append(column, np.asarray([figures.get(name, 0)], column.dtype))
    return Table(table.name, row)
