"""oneDNN and MKL calls: totals, the operator around each, and which kernels are not good.

Enters: the table `primitives`, with `ops` and `threads` for the join.
Leaves: tables sorted by time. Only executions count as time spent; creations
have their own view, and a graph partition's line repeats the primitives that
ran inside it, so it is kept out of totals.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.nesting import skip, timeline
from sonde.analyze.ops.table import CALLS
from sonde.analyze.primitives.implementations import isa_rank
from sonde.columns import Array, Column, Table, Text

_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::addmv_", "aten::dot")


def executed(primitives: Table) -> Array:
    """Mask of the rows that are work done: executions, without graph partitions."""
    event, kind = primitives.text("event"), primitives.text("kind")
    runs = [e for e in event.values if e == "exec" or e.startswith("exec:")]
    graphs = [k for k in kind.values if k.startswith("graph:")]
    return np.asarray(event.matches(runs) & ~kind.matches(graphs))


def summarize(primitives: Table, by: tuple[str, ...] = ("kind", "implementation", "shape")) -> Table:
    """Calls, time, FLOPs and bytes by the text columns `by`, longest first.

    FLOPs and bytes are NaN for a group in which one is unknown.
    """
    rows = primitives.take(executed(primitives))
    key, first = _group(rows, by)
    count = len(first)
    total = np.bincount(key, np.nan_to_num(rows.array("time_ms")), count)
    order = np.argsort(-total, kind="stable")
    columns: dict[str, Column] = {name: rows.text(name).take(first[order]) for name in by}
    columns["calls"] = np.bincount(key, minlength=count)[order]
    columns["total_ms"] = total[order]
    for name in ("flops", "bytes"):
        columns[name] = np.bincount(key, rows.array(name), count)[order]
    return Table("primitive_summary", columns)


def with_ops(primitives: Table, ops: Table, threads: Table) -> Table:
    """Give each primitive the operator call around it, by time; MKL calls by order and size."""
    found = _by_time(primitives, ops, threads)
    found = _products_in_order(primitives, ops, threads, found)
    return primitives.with_columns(op=found)


def _by_time(primitives: Table, ops: Table, threads: Table) -> Array:
    """The innermost call of the primitive's process that encloses the middle of the primitive.

    Calls of the primitive's own thread come first. Where the thread is not known, or has no call
    then (MXNet's trace names its threads otherwise than the system), all threads of the process
    are asked; the shortest enclosing call wins, since a primitive runs inside one operator.
    """
    result = np.full(len(primitives), -1, np.int64)
    if not len(ops) or not len(primitives):
        return result
    start, end, identity = ops.array("start_ns"), ops.array("end_ns"), ops.array("op")
    keep = np.asarray(ops.text("kind").matches(CALLS) & ~ops.array("is_async"))
    parent = skip(parent_rows(ops), keep)
    timed = np.nan_to_num(primitives.array("time_ms")) * 1e6
    stamp = primitives.array("start_ns")
    middle = stamp + (timed / 2).astype(np.int64)
    process_of = _process_of_ops(ops, threads)
    never = np.iinfo(np.int64).max
    best = np.full(len(primitives), never)
    own = np.zeros(len(primitives), bool)  # found on its own thread
    for thread in np.unique(ops.array("thread")[keep]):
        rows = np.flatnonzero(keep & (ops.array("thread") == thread))
        mine = np.flatnonzero((stamp >= 0) & (primitives.array("process") == process_of[rows[0]]) & ~own)
        row = timeline(rows, start, end, parent).at(middle[mine])
        length = np.where(row >= 0, (end - start)[np.maximum(row, 0)], never)
        same = (primitives.array("thread")[mine] == thread) & (row >= 0)
        better = same | (length < best[mine])
        best[mine[better]] = length[better]
        result[mine[better]] = identity[row[better]]
        own[mine[same]] = True
    return result


def _products_in_order(primitives: Table, ops: Table, threads: Table, found: Array) -> Array:
    """A log made elsewhere has no times for MKL. Its products are matched in the order of the log.

    Products run one after the other, so the n-th call belongs to the n-th product
    operator that MKL served: each call takes the next operator with its FLOPs (or,
    for a batch, a multiple of them). A call with no such operator left stays unjoined.
    """
    if not len(ops) or not primitives.text("library").equals("mkl").any():
        return found
    result = found.copy()
    process_of = _process_of_ops(ops, threads)
    product = np.asarray(ops.text("name").matches(_PRODUCTS))
    flops, calls = ops.array("flops"), primitives.array("flops")
    taken = set(found[found >= 0].tolist())  # oneDNN served these
    for process in np.unique(process_of[product]) if product.any() else []:
        rows = np.flatnonzero(product & (process_of == process) & ~np.isnan(flops))
        rows = rows[np.argsort(ops.array("start_ns")[rows], kind="stable")]
        rows = rows[[ops.array("op")[r] not in taken for r in rows.tolist()]] if taken else rows
        mine = primitives.text("library").equals("mkl") & (primitives.array("process") == process)
        mine &= primitives.array("start_ns") < 0
        at, left = 0, 0.0
        for call in np.flatnonzero(mine & ~np.isnan(calls)).tolist():
            if left > 0 and calls[call] <= left:  # the next matrix of a batch
                left -= calls[call]
                result[call] = ops.array("op")[rows[at - 1]]
                continue
            ahead = at
            while ahead < len(rows) and not _fits(flops[rows[ahead]], calls[call]):
                ahead += 1
            if ahead == len(rows):
                continue
            result[call] = ops.array("op")[rows[ahead]]
            left = flops[rows[ahead]] - calls[call]
            at = ahead + 1
    return result


def _fits(operator: float, call: float) -> bool:
    return call > 0 and operator >= call and operator % call == 0


def _process_of_ops(ops: Table, threads: Table) -> Array:
    row = rows_of(threads.array("thread"), ops.array("thread").astype(np.int64))
    if not len(threads):
        return np.full(len(ops), -1)
    return np.where(row >= 0, threads.array("process")[np.maximum(row, 0)], -1)


def weak_kernels(primitives: Table, machine_rank: int = 0) -> Table:
    """Executions whose kernel is not the best the machine could run, longest first.

    `issue` is reference, fallback, or isa: the instruction set in the name ranks below
    `machine_rank` (0 when it is not known: then nothing is said about it).
    """
    rows = primitives.take(executed(primitives))
    quality, isa = rows.text("quality"), rows.text("isa")
    ranks = np.array([isa_rank(value) for value in isa.values] + [0])[isa.codes]
    low = (ranks > 0) & (ranks < machine_rank)
    issue = np.full(len(rows), 3)
    issue[low] = 2
    issue[quality.equals("fallback")] = 1
    issue[quality.equals("reference")] = 0
    names = Text(issue.astype(np.int32), ["reference", "fallback", "isa", ""])
    weak = rows.with_columns(issue=names).take(issue < 3)
    table = summarize(weak, ("issue", "kind", "implementation", "shape"))
    return Table("weak_kernels", table.columns)


def reorders(primitives: Table) -> Table:
    """Time in reorders by class: weights, activations, dtype (a conversion) or other, longest first."""
    rows = primitives.take(executed(primitives) & primitives.text("kind").equals("reorder"))
    layouts = rows.text("layouts")
    classes = ["weights", "activations", "dtype", "other"]
    of_value = [classes.index(reorder_class(value)) for value in layouts.values]
    codes = np.array([*of_value, 3], np.int32)[layouts.codes]
    table = summarize(rows.with_columns(**{"class": Text(codes, classes)}), ("class", "layouts", "shape"))
    return Table("reorders", table.columns)


def reorder_class(layouts: str) -> str:
    """By its two descriptors: a changed type, or a side blocked as weights or as activations are."""
    from sonde.analyze.primitives.descriptors import parse

    sides = [d for d in parse(layouts) if d is not None and d.present]
    if len(sides) != 2:
        return "other"
    types = {side.data_type for side in sides}
    if len(types) == 2 and None not in types:
        return "dtype"
    tags = [side.layout for side in sides]
    # Output channels blocked (dimension a, or O) only ever in weights.
    if any("A" in tag or "O" in tag for tag in tags):
        return "weights"
    if any("B" in tag or "C" in tag for tag in tags):
        return "activations"
    return "other"


def creations(primitives: Table) -> Table:
    """Primitives created (not found in a cache): in steady state each is a cost that repeats."""
    event = primitives.text("event")
    made = [e for e in event.values if e.startswith(("create", "compile")) and not e.endswith("cache_hit")]
    made = [e for e in made if not e.startswith("create_nested")]
    rows = primitives.take(np.asarray(event.matches(made)))
    rows = rows.with_columns(event=Text.full(len(rows), "exec"))  # let them pass as work done
    table = summarize(rows, ("kind", "implementation", "shape"))
    return Table("creations", table.columns)


def _group(table: Table, by: tuple[str, ...]) -> tuple[Array, Array]:
    """Group number of each row, and the first row of each group."""
    if not len(table):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = np.stack([table.text(name).codes for name in by])
    _, first, key = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    return key.reshape(-1), first
