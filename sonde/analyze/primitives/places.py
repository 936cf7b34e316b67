"""Where each oneDNN or MKL call comes from: its operator, module and line, and how that is known.

Enters: `primitives` with the operator calls and the samples of the same recording. Leaves: `primitives` with
the text columns operator, module, line and evidence. In order of trust, `evidence` is
    call    an operator call was recorded around it
    sample  a sample of its own thread fell into it, whose stack names the operator
    alike   samples fell only into other calls of its kind, implementation, direction and shape on its thread,
            and all of them name one operator; native programs repeat the same few calls, and a call is short
and null where none of these is there: then the operator is not known, and its share is told.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.samples.operators_on_stack import stack_operators
from sonde.columns import Array, Table, Text

EVIDENCE = ("call", "sample", "alike")
_NOT_THE_USERS = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.\d+/|^<|^/usr/|^[^/]")


def with_places(primitives: Table, ops: Table, samples: Table, stacks: Table, frames: Table) -> Table:
    """`primitives` with operator, module, line and evidence."""
    at = rows_of(ops.array("op"), primitives.array("op"))
    known, row = at >= 0, np.maximum(at, 0)
    evidence = np.where(known, 0, -1)
    operator, module = (_text(ops.text(name), row, known) for name in ("name", "module"))
    line = _call_lines(ops, row, known)
    inside = np.where(known, -1, _samples_inside(primitives, samples))
    if (inside >= 0).any():
        by_stack = stack_operators(samples, stacks, frames).tolist()
        places = _stack_lines(samples, stacks, frames, np.unique(inside[inside >= 0]))
        for i in np.flatnonzero(inside >= 0).tolist():
            operator[i], line[i] = by_stack[inside[i]], places.get(int(inside[i]))
            evidence[i] = 1 if operator[i] is not None else -1
        _spread(primitives, operator, line, evidence)
    columns = {"operator": Text.of(operator), "module": Text.of(module), "line": Text.of(line)}
    return primitives.with_columns(**columns, evidence=Text(evidence.astype(np.int32), list(EVIDENCE)))


def shares(primitives: Table) -> dict[str, float]:
    """Share of the time of `primitives` (executions with places) by evidence, and `unknown`."""
    time_ms = np.nan_to_num(primitives.array("time_ms"))
    total = float(time_ms.sum())
    codes = primitives.text("evidence").codes
    return {
        name: float(time_ms[codes == code].sum()) / total if total else 0.0
        for code, name in ((0, "call"), (1, "sample"), (2, "alike"), (-1, "unknown"))
    }


def _text(column: Text, row: Array, known: Array) -> list[str | None]:
    if not len(column):
        return [None] * len(row)
    codes = np.where(known, column.codes[row], -1).astype(np.int32)
    return Text(codes, column.values).tolist()


def _call_lines(ops: Table, row: Array, known: Array) -> list[str | None]:
    if not len(ops):
        return [None] * len(row)
    files, lines = ops.text("file").take(row).tolist(), ops.array("line")[row].tolist()
    rows = zip(files, lines, known.tolist(), strict=True)
    return [f"{file}:{line}" if there and file else None for file, line, there in rows]


def _samples_inside(primitives: Table, samples: Table) -> Array:
    """Row in `samples` of the first sample of the call's own thread inside it; -1 when there is none."""
    result = np.full(len(primitives), -1, np.int64)
    start = primitives.array("start_ns")
    end = start + (np.nan_to_num(primitives.array("time_ms")) * 1e6).astype(np.int64)
    running = np.flatnonzero((samples.array("stack") >= 0) & ~samples.text("state").equals("waiting"))
    thread, time_ns = samples.array("thread"), samples.array("time_ns")
    for number in np.intersect1d(np.unique(primitives.array("thread")), np.unique(thread[running])):
        rows = running[thread[running] == number]
        rows = rows[np.argsort(time_ns[rows], kind="stable")]
        mine = np.flatnonzero((primitives.array("thread") == number) & (start >= 0))
        first = np.searchsorted(time_ns[rows], start[mine])
        hit = (first < len(rows)) & (time_ns[rows[np.minimum(first, len(rows) - 1)]] <= end[mine])
        result[mine[hit]] = rows[first[hit]]
    return result


def _stack_lines(samples: Table, stacks: Table, frames: Table, rows: Array) -> dict[int, str]:
    """The innermost line of the user's own files on the stack of each of these samples, where there is one."""
    files, lines = frames.text("file").tolist(), frames.array("line").tolist()
    frame = rows_of(frames.array("frame"), stacks.array("frame")).tolist()
    parent = rows_of(stacks.array("stack"), stacks.array("parent")).tolist()
    at_stack = rows_of(stacks.array("stack"), samples.array("stack")[rows]).tolist()
    found = {}
    for row, at in zip(rows.tolist(), at_stack, strict=True):
        while at >= 0:
            file, line = files[frame[at]], lines[frame[at]]
            if file and line > 0 and not _NOT_THE_USERS.search(file):
                found[row] = f"{file}:{line}"
                break
            at = parent[at]
    return found


def _spread(primitives: Table, operator: list[str | None], line: list[str | None], evidence: Array) -> None:
    """Give calls without a sample what all samples of their like agree on."""
    names = ("kind", "implementation", "direction", "shape")
    keys = np.stack([primitives.array("thread"), *(primitives.text(n).codes for n in names)])
    key = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    told: dict[int, set[tuple[str | None, str | None]]] = {}
    for i in np.flatnonzero(evidence == 1).tolist():
        told.setdefault(int(key[i]), set()).add((operator[i], line[i]))
    for i in np.flatnonzero(evidence < 0).tolist():
        seen = told.get(int(key[i]), set())
        if len({name for name, _ in seen}) != 1:
            continue
        operator[i], evidence[i] = next(iter(seen))[0], 2
        line[i] = next(iter(seen))[1] if len(seen) == 1 else None
