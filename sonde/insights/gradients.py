"""What becomes of gradients: whether an optimizer ever reads what a backward pass added to a parameter's.

Enters: the operator calls of windows. Leaves: per backward pass, which gradients were thrown away. A gradient that is
new (nothing is added to it) had been dropped before; if no optimizer touched it in between, what was in it is lost.
Parameters are told apart by shape alone: one of a shape that is updated speaks for all of that shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.columns import Array, Table
from sonde.insights.calls import elements, parsed

Shape = tuple[int, ...]
_ADDED = re.compile(r"^torch::autograd::AccumulateGrad$")
_NODE = "autograd::engine::evaluate_function"
# Outside the backward pass these change or judge a gradient, or the parameter by hand.
_READS = re.compile(r"^aten::(\w+_|linalg_vector_norm|_foreach_norm|norm|isfinite|abs|sign)$")
_MANY = re.compile(r"^aten::(_fused_|_foreach_)")


@dataclass
class Pass:
    """One backward pass of a window. `thrown` is filled in by what follows it."""

    start_ns: int
    end_ns: int
    fresh: dict[Shape, bool]  # shape of a gradient → whether nothing was there before
    times: dict[Shape, int]  # when it was last added to
    thrown: set[Shape] = field(default_factory=set)
    used: set[Shape] = field(default_factory=set)
    partly: set[Shape] = field(default_factory=set)  # read, with what passes before the window may have added

    @property
    def kind(self) -> frozenset[Shape]:
        return frozenset(self.fresh)


def passes_of(ops: Table, windows: Table) -> list[Pass]:
    """All backward passes of the windows, with what became of their gradients as far as the same window tells."""
    found: list[Pass] = []
    begin = ops.array("start_ns")
    for opened, closed in zip(
        windows.array("start_ns").tolist(), windows.array("end_ns").tolist(), strict=True
    ):
        rows = np.flatnonzero((begin >= opened) & (begin < closed))
        rows = rows[np.argsort(begin[rows], kind="stable")]
        found += _of_window(ops, rows)
    return found


def thrown_away(passes: list[Pass]) -> dict[frozenset[Shape], set[Shape]]:
    """By the gradients that a pass makes, those that were thrown away whenever it could be seen.

    Where optimizers read a gradient only after passes that began it anew, no pass of another kind added to it.
    """
    made: dict[frozenset[Shape], set[Shape]] = {}
    lost: dict[frozenset[Shape], set[Shape]] = {}
    kept: dict[frozenset[Shape], set[Shape]] = {}
    for one in passes:
        made.setdefault(one.kind, set()).update(one.fresh)
        lost.setdefault(one.kind, set()).update(one.thrown)
        kept.setdefault(one.kind, set()).update(one.used)
    read = set().union(*(one.used for one in passes)) if passes else set()
    known = read - set().union(*(one.partly for one in passes)) if passes else set()
    found = {kind: (lost[kind] | made[kind] & known) - kept[kind] for kind in made}
    return {kind: shapes for kind, shapes in found.items() if shapes}


def _of_window(ops: Table, rows: Array) -> list[Pass]:
    found: list[Pass] = []
    pending: dict[Shape, list[Pass]] = {}  # whose gradient of this shape is not read yet
    for event in _events(ops, rows):
        if isinstance(event, Pass):
            found.append(event)
            for shape, fresh in event.fresh.items():
                if fresh:
                    for earlier in pending.pop(shape, []):
                        earlier.thrown.add(shape)
                pending.setdefault(shape, []).append(event)
            continue
        for shape in [s for s in pending if event is None or s in event]:
            chain = pending.pop(shape)
            for earlier in chain:
                earlier.used.add(shape)
            if not chain[0].fresh[shape]:
                chain[0].partly.add(shape)
    return found


def _events(ops: Table, rows: Array) -> Iterator[Pass | set[Shape] | None]:
    """In the order of time: backward passes, and shapes that something read; None: it may have read all."""
    names, kinds = ops.text("name"), ops.text("kind")
    start, end, parent = ops.array("start_ns"), ops.array("end_ns"), ops.array("parent")
    number = {int(op): row for row, op in enumerate(ops.array("op").tolist())}
    now: Pass | None = None
    steps_end = -1
    for row in rows.tolist():
        name = names[row] or ""
        if name.startswith("Optimizer.step"):
            steps_end = int(end[row])
            if now is not None:
                yield now
                now = None
            if not _told(ops, rows, int(start[row]), steps_end):
                yield None
            continue
        if _ADDED.match(name):
            shapes = [_shape(s) for s in parsed(ops.text("shapes")[row])]
            if not shapes or not shapes[0]:
                continue
            if now is None:
                now = Pass(int(start[row]), int(end[row]), {}, {})
            now.fresh[shapes[0]] = now.fresh.get(shapes[0], True) and not _added(ops, rows, row)
            now.times[shapes[0]] = now.end_ns = int(end[row])
            continue
        stepping = int(start[row]) < steps_end  # a hook may step in the backward pass
        if kinds[row] == "backward" or name.startswith(_NODE):
            continue
        if not stepping and _inside(names, kinds, parent, number, row):
            continue
        touched = _touched(ops, row) if stepping or _READS.match(name) else set()
        if now is not None and (touched or (kinds[row] == "op" and int(start[row]) > now.end_ns)):
            yield now
            now = None
        if touched:
            yield touched
    if now is not None:
        yield now


def _inside(names: Any, kinds: Any, parent: Array, number: dict[int, int], row: int) -> bool:
    """Whether a call was made by a node of the backward pass."""
    up = number.get(int(parent[row]), -1)
    while up >= 0:
        if kinds[up] == "backward" or (names[up] or "").startswith(_NODE):
            return True
        up = number.get(int(parent[up]), -1)
    return False


def _told(ops: Table, rows: Array, start_ns: int, end_ns: int) -> bool:
    """Whether the calls of an optimizer's step say which tensors they update: long lists are left out."""
    begin = ops.array("start_ns")
    inside = rows[(begin[rows] > start_ns) & (begin[rows] < end_ns)]
    seen = False
    for row in inside.tolist():
        shapes = parsed(ops.text("shapes")[row])
        if _MANY.match(ops.text("name")[row] or "") and not (shapes and shapes[0]):
            return False
        seen = seen or bool(_touched(ops, row))
    return seen


def _added(ops: Table, rows: Array, row: int) -> bool:
    """Whether a gradient was added to one that was there."""
    begin = ops.array("start_ns")
    first = int(np.searchsorted(begin[rows], begin[row], "left"))
    thread, end = ops.array("thread"), int(ops.array("end_ns")[row])
    for other in rows[first:].tolist():
        if int(begin[other]) > end:
            return False
        if thread[other] == thread[row] and (ops.text("name")[other] or "") in ("aten::add_", "aten::add"):
            return True
    return False


def _touched(ops: Table, row: int) -> set[Shape]:
    found: set[Shape] = set()
    for shape in parsed(ops.text("shapes")[row]):
        if isinstance(shape, list) and shape and all(isinstance(s, list) for s in shape):
            found |= {_shape(s) for s in shape}
        else:
            found.add(_shape(shape))
    return found - {()}


def _shape(shape: Any) -> Shape:
    return tuple(shape) if elements(shape) else ()
