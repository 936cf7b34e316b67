"""Operator calls that a profiling window (or an imported trace) recorded, with the times that rules need.

Enters: `ops` and the windows among the steps. Leaves: `Calls`: the counted calls (as in the operator table), their
parents, self times and how many steps they stand for. Times in windows are longer than outside, by the
profiler's own cost; shares of the window's time are what rules use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde import json_text
from sonde.analyze.base.intervals import union
from sonde.analyze.base.nesting import depths, levels, sum_children
from sonde.analyze.ops.table import PRINTED, counted
from sonde.analyze.samples.stack_index import Mask, text_mask
from sonde.columns import Array, Table
from sonde.insights.model import NotEnough

if TYPE_CHECKING:
    from sonde.insights.subject import Subject

RECORD_WINDOW = "no operator calls were recorded: run longer, or with --window steps=A:B (or --budget 5)"
RECORD_SHAPES = "no operator calls were recorded: run with --shapes"
NO_WHOLE_STEP = (
    "operator calls were recorded, but not of one whole step: run longer, or with --window steps=A:B"
)
MOST_OF_STEP = 0.5  # a window with so much of a step tells what the step does
LATE = 0.1  # share of a step that may be over when its window opens; the step then counts from there


@dataclass(frozen=True)
class Calls:
    """Calls within whole steps. All arrays are parallel to `ops`."""

    ops: Table
    parent: Array  # row, -1 at the top
    duration_ns: Array
    self_ns: Array
    main: Mask  # on the threads that make the steps or run the backward pass
    backward: Mask  # begun while a backward pass ran
    optimizer: Mask  # begun while an optimizer stepped
    steps: int
    whole_ns: float  # wall time of those steps

    def named(self, pattern: str) -> Mask:
        """Calls whose name matches a regular expression."""
        return text_mask(self.ops.text("name"), pattern)

    def share(self, rows: Mask) -> float:
        """Share of the steps' time in these calls, without double counting nested ones."""
        return float(self.duration_ns[rows & ~self.inside(rows)].sum()) / max(self.whole_ns, 1.0)

    def self_share(self, rows: Mask) -> float:
        return float(self.self_ns[rows].sum()) / max(self.whole_ns, 1.0)

    def per_step(self, rows: Mask) -> float:
        """Calls per step."""
        return float(rows.sum()) / max(self.steps, 1)

    def inside(self, rows: Mask) -> Mask:
        """Calls with an ancestor among `rows`."""
        found = np.zeros(len(rows), np.bool_)
        for level in self._levels:
            up = self.parent[level]
            found[level] = rows[up] | found[up]
        return found

    @cached_property
    def _levels(self) -> list[Array]:
        return list(levels(depths(self.parent)))[1:]

    def shapes(self, row: int) -> list[Any]:
        return parsed(self.ops.text("shapes")[row])

    def dtypes(self, row: int) -> list[Any]:
        return parsed(self.ops.text("dtypes")[row])

    def each_kind(self, rows: Array, ask: Callable[[int], float], *columns: str) -> Array:
        """`ask` of each row, asked once per distinct text of the columns: calls repeat by the thousand."""
        if not len(rows):
            return np.zeros(0)
        codes = np.stack([self.ops.text(column).codes[rows] for column in columns], axis=1)
        _, first, group = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        answers = np.array([ask(int(rows[at])) for at in first], np.float64)
        return answers[group.reshape(-1)]

    def heaviest(self, rows: Mask) -> Heaviest:
        """The longest of some calls: where it was made, and what it is called."""
        row = int(np.flatnonzero(rows)[self.duration_ns[rows].argmax()])
        return Heaviest(row, self.ops.text("name")[row] or "", *self.place(row))

    def below(self, file: str, line: int) -> Mask:
        """Calls of a line of the program, and those of the libraries and functions that it calls."""
        stack = self.ops.text("stack")
        frame = f"({file}:{line})"
        found: Mask = np.append(np.array([frame in v for v in stack.values], np.bool_), False)[stack.codes]
        found |= (self.ops.array("line") == line) & self.ops.text("file").equals(file)
        return found

    def place(self, row: int) -> tuple[str, int]:
        """The user's line that made the call."""
        return self.ops.text("file")[row] or "", int(self.ops.array("line")[row])


@dataclass(frozen=True)
class Heaviest:
    """One call that stands for many."""

    row: int
    name: str
    file: str
    line: int


def elements(shape: Any) -> int:
    """Elements of a shape as the profiler gives it; 0 for what is no shape of a tensor."""
    if not isinstance(shape, list) or not shape or not all(isinstance(n, int) for n in shape):
        return 0
    return math.prod(shape)


@lru_cache(maxsize=65536)
def _loaded(text: str) -> list[Any]:
    return json_text.list_of(text) or []


def parsed(text: str | None) -> list[Any]:
    """A JSON list of the ops table; empty when there is none."""
    return _loaded(text) if text else []


def window_calls(subject: Subject) -> Calls:
    """The calls of whole recorded steps; NotEnough when there are none."""
    ops = subject.table("ops")
    ops = ops.take(~ops.text("kind").equals(PRINTED))
    if not len(ops):
        raise NotEnough(RECORD_SHAPES if subject.native else RECORD_WINDOW)
    start, end, steps = _windows(subject, ops)
    whole = float((end - start).sum())
    if not steps or whole <= 0:
        raise NotEnough(NO_WHOLE_STEP)
    middle = (ops.array("start_ns") + ops.array("end_ns")) // 2
    order = np.argsort(start, kind="stable")
    at = np.searchsorted(start[order], middle, "right") - 1
    within = (at >= 0) & (middle < end[order][np.maximum(at, 0)])
    ops = ops.take(np.flatnonzero(within))
    if not len(ops):
        raise NotEnough(NO_WHOLE_STEP)
    rows, parent = counted(ops)
    duration = np.where(ops.array("is_async"), 0, ops.array("end_ns") - ops.array("start_ns"))
    own = duration - sum_children(parent, np.where(rows, duration, 0))
    kept = np.flatnonzero(rows)
    number = np.full(len(ops) + 1, -1, np.int64)
    number[kept] = np.arange(len(kept))
    table = ops.take(kept)
    return Calls(
        table,
        number[parent[kept]],
        duration[kept],
        np.maximum(own[kept], 0),
        _on_main(table),
        _in_phase(subject, table, "backward") | table.text("kind").equals("backward"),
        _in_phase(subject, table, "optimizer"),
        steps,
        whole,
    )


def _on_main(ops: Table) -> Mask:
    """Threads with most calls first: the stepping thread, and the backward thread where there is one."""
    thread = ops.array("thread")
    numbers, counts = np.unique(thread, return_counts=True)
    chosen = numbers[counts >= 0.1 * counts.max(initial=1)]
    found: Mask = np.isin(thread, chosen)
    return found


def _in_phase(subject: Subject, ops: Table, name: str) -> Mask:
    marks = subject.table("marks")
    rows = marks.text("kind").equals("phase") & marks.text("name").equals(name)
    spans = union(marks.array("start_ns")[rows], marks.array("end_ns")[rows])
    begin = ops.array("start_ns")
    found: Mask = spans.within(begin, begin + 1) > 0
    return found


def _windows(subject: Subject, ops: Table) -> tuple[Array, Array, int]:
    """Steps that were recorded deeply: start, end, number. Without steps: the extent of the calls."""
    marks = subject.table("marks")
    kinds = marks.text("kind")
    steps, windows = marks.take(kinds.equals("step")), marks.take(kinds.equals("window"))
    start, end = steps.array("start_ns"), steps.array("end_ns")
    if len(steps) and len(windows):
        opened, closed = windows.array("start_ns"), windows.array("end_ns")
        order = np.argsort(opened, kind="stable")
        # A window closes at the safe point after the step's end, and may open a moment into the step.
        at = np.searchsorted(opened[order], start + (LATE * (end - start)).astype(np.int64), "right") - 1
        inside = (at >= 0) & (end <= closed[order][np.maximum(at, 0)] + 1_000_000)
        start, end = np.maximum(start, opened[order][np.maximum(at, 0)])[inside], end[inside]
        steady = _with_calls(start, end, ops)
        if not steady.any():
            return _parts_of_steps(steps, windows, ops)
        return start[steady], end[steady], int(steady.sum())
    if len(steps):
        found = _with_calls(start, end, ops)
        return start[found], end[found], int(found.sum())
    first, last = int(ops.array("start_ns").min()), int(ops.array("end_ns").max())
    return np.array([first], np.int64), np.array([last], np.int64), 1


def _parts_of_steps(steps: Table, windows: Table, ops: Table) -> tuple[Array, Array, int]:
    """Windows that hold no whole step, but most of one: each counts as one step, from its opening to the step's end."""
    opened, closed = windows.array("start_ns"), windows.array("end_ns")
    begin, finish = steps.array("start_ns"), steps.array("end_ns")
    order = np.argsort(begin, kind="stable")
    at = order[np.maximum(np.searchsorted(begin[order], opened, "right") - 1, 0)]
    end = np.minimum(finish[at], closed)
    most = (opened >= begin[at]) & (end - opened >= MOST_OF_STEP * (finish[at] - begin[at]))
    most &= _with_calls(opened, end, ops)
    return opened[most], end[most], int(most.sum())


def _with_calls(start: Array, end: Array, ops: Table) -> Mask:
    times = np.sort(ops.array("start_ns"))
    found: Mask = np.searchsorted(times, end) > np.searchsorted(times, start)
    return found
