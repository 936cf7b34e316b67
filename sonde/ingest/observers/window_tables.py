"""A window's files → `ops`, `memory`, `kernels`, `launches` on the recording's clock and numbering.

The clock records of the window tie Kineto's clock to CLOCK_MONOTONIC (`clock_map`). Each operator
then gets the line, stack and module that ran when it began, and backward operators those
of their forward operator.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde.columns import Array, Column, Interner, Table, Text
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.mxnet import trace as mxnet_trace
from sonde.ingest.observers import line_states
from sonde.ingest.observers.clock_map import ClockMap, clock_map
from sonde.ingest.observers.module_paths import ModulePaths
from sonde.ingest.observers.roster import Roster
from sonde.link import link_calls
from sonde.record.observe.kineto import CLOCK_NAME

TIMES = {"ops": ("start_ns", "end_ns"), "memory": ("time_ns",)}
# Kineto's wall clock against ours, when no clock records tie them: read at one moment only.
OWN_UNCERTAINTY_NS = 100_000
MXNET_UNCERTAINTY_NS = 1_000_000  # whole microseconds of a wall clock read once at start
TIMES |= {"kernels": ("start_ns", "end_ns"), "launches": ("start_ns", "end_ns"), "counters": ("time_ns",)}


@dataclass
class Numbering:
    """Next free identities, so that windows of all processes share one table."""

    op: int = 0
    kernel: int = 0
    launch: int = 0


@dataclass(frozen=True)
class WindowTables:
    """The tables of one window, and how far its times may be off."""

    tables: dict[str, Table]
    uncertainty_ns: int
    clock_drift: float = 0.0  # the profiler's clock against ours, a share; corrected where it is not 0
    details: dict[str, Any] = field(default_factory=dict)


def read_window(
    base: Path,
    window: dict[str, Any],
    process: int,
    roster: Roster,
    modules: ModulePaths,
    numbering: Numbering,
) -> WindowTables:
    """Everything of one window; `base` is raw/PID.window-N."""
    tables = _trace(Path(f"{base}.json"))
    to_ours = _clock_map(tables["ops"], window["clock"])
    tables = _moved(tables, to_ours)
    ops = tables["ops"]
    ops = ops.take(~ops.text("name").equals(CLOCK_NAME))
    states = line_states.read(base, modules)
    tables["ops"] = ops
    tables = _renumber(tables, process, roster, numbering)
    ops = tables["ops"]
    if states is not None:
        followed = ops.array("thread") == roster.thread(process, window["tid"])
        ops = _with_lines(ops, states, followed)
    tables["ops"] = ops
    return WindowTables(link_calls(tables), to_ours.uncertainty_ns, to_ours.drift)


def read_own_trace(
    path: Path, epoch_offset_ns: int, process: int, roster: Roster, numbering: Numbering
) -> WindowTables:
    """A trace that the program's own profiler wrote; its clock is the wall clock."""
    tables = _renumber(_moved(_trace(path), lambda t: t - epoch_offset_ns), process, roster, numbering)
    return WindowTables(link_calls(tables), OWN_UNCERTAINTY_NS)


def read_mxnet_trace(
    path: Path, epoch_offset_ns: int, process: int, roster: Roster, numbering: Numbering
) -> WindowTables:
    """MXNet's own trace; its engine's threads have no names there that the system knows."""
    recording = mxnet_trace.read(path)
    tables = {name: recording.table(name) for name in ("ops", "counters", "threads", "losses")}
    tables = _renumber(_moved(tables, lambda t: t - epoch_offset_ns), process, roster, numbering)
    return WindowTables(link_calls(tables), MXNET_UNCERTAINTY_NS)


def _trace(path: Path) -> dict[str, Table]:
    decoded = kineto.decode(path)
    return {name: decoded[name] for name in (*TIMES, "threads", "losses") if name != "counters"}


def _clock_map(ops: Table, clock: list[list[int]]) -> ClockMap:
    """By the clock records of the trace and the readings noted around them."""
    rows = np.flatnonzero(ops.text("name").equals(CLOCK_NAME))
    start, end = np.sort(ops.array("start_ns")[rows]), np.sort(ops.array("end_ns")[rows])
    return clock_map(start, end, np.asarray(clock, np.int64).reshape(-1, 2))


def _moved(tables: dict[str, Table], to_ours: Callable[[Array], Array]) -> dict[str, Table]:
    for name, columns in TIMES.items():
        if name in tables:
            table = tables[name]
            tables[name] = table.with_columns(**{c: to_ours(table.array(c)) for c in columns})
    return tables


def _renumber(
    tables: dict[str, Table], process: int, roster: Roster, numbering: Numbering
) -> dict[str, Table]:
    threads = tables.pop("threads")
    largest = int(threads.array("thread").max(initial=-1))
    number = np.full(largest + 2, -1, np.int64)
    for row, tid, name in zip(
        threads.array("thread").tolist(),
        threads.array("tid").tolist(),
        threads.text("name").tolist(),
        strict=True,
    ):
        number[row] = roster.thread(process, tid, name)
    ops = tables["ops"]
    identity = _Renumber(ops.array("op"), numbering.op)
    numbering.op += len(ops)
    links = {"op": identity, "parent": identity, "forward_op": identity}
    if "launches" in tables:
        links["launch"] = _Renumber(tables["launches"].array("launch"), numbering.launch)
        numbering.launch += len(tables["launches"])
    if "kernels" in tables:
        links["kernel"] = _Renumber(tables["kernels"].array("kernel"), numbering.kernel)
        numbering.kernel += len(tables["kernels"])
    result: dict[str, Table] = {}
    for name, table in tables.items():
        changed: dict[str, Column] = {}
        for column in table:
            link = links.get(column)
            if link is not None:
                changed[column] = link(table.array(column))
        if "thread" in table:
            changed["thread"] = number[table.array("thread")].astype(np.int32)
        if "process" in table:
            changed["process"] = np.full(len(table), process, np.int32)
        result[name] = table.with_columns(**changed)
    return result


class _Renumber:
    """Old identities → consecutive ones from `first` on, in the order of rows; unknown ones → -1."""

    def __init__(self, old: Array, first: int) -> None:
        self._order = np.argsort(old, kind="stable")
        self._old = old[self._order]
        self._first = first

    def __call__(self, values: Array) -> Array:
        if not len(self._old):
            return np.full(len(values), -1, np.int64)
        at = np.minimum(np.searchsorted(self._old, values), len(self._old) - 1)
        return np.where(self._old[at] == values, self._order[at] + self._first, -1)


def _with_lines(ops: Table, states: line_states.LineStates, followed: Array) -> Table:
    state = np.where(followed, states.at(ops.array("start_ns")), -1)
    rows = state + 1  # row 0 stands for "not known"
    known = states.states
    intern_file, intern_stack, intern_module = Interner(), Interner(), Interner()
    files = np.array([-1] + [intern_file(s.file) for s in known], np.int32)
    stacks = np.array([-1] + [intern_stack(s.stack or None) for s in known], np.int32)
    paths = np.array([-1] + [intern_module(s.module) for s in known], np.int32)
    lines = np.array([-1] + [s.line for s in known], np.int32)
    return ops.with_columns(
        file=Text(files[rows], intern_file.values),
        stack=Text(stacks[rows], intern_stack.values),
        module=Text(paths[rows], intern_module.values),
        line=lines[rows],
    )


def read_window_lines(path: Path) -> list[dict[str, Any]]:
    """raw/PID.windows.jsonl; a cut last line is dropped."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
