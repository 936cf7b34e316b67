"""Give each call of oneDNN or MKL the operator call around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.nesting import skip, timeline
from sonde.analyze.ops.table import CALLS
from sonde.columns import Array, Table, distinct

_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::addmv_", "aten::dot")


def with_primitive_ops(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`primitives` with the operator call around each."""
    if not all(len(tables.get(name, ())) for name in ("primitives", "ops", "threads")):
        return {}
    return {"primitives": with_ops(tables["primitives"], tables["ops"], tables["threads"])}


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
    for thread in distinct(ops.array("thread")[keep]):
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
    for process in distinct(process_of[product]) if product.any() else []:
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
