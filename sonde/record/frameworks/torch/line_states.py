"""raw/PID.window-N.lines.*: what line, stack and module the program was in at any moment of a window.

In: the events of `sonde.record.frameworks.torch.inside.lines`. Out: for each moment, a state with
the innermost followed line, the whole stack of followed lines, and the module path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.columns import Array, Interner, Table, Text
from sonde.record.frameworks.torch.inside.lines import ENTER, LEAVE, LINE, MODULE, MODULE_END
from sonde.record.frameworks.torch.module_paths import ModulePaths


@dataclass(frozen=True)
class State:
    """Where the program was."""

    file: str | None
    line: int
    stack: str  # 'func (file:line)' leaf last, ';' between
    module: str | None


@dataclass(frozen=True)
class LineStates:
    """State number from each event on."""

    time_ns: Array
    state: Array
    states: list[State]

    def at(self, time_ns: Array) -> Array:
        """Number of the state at each moment, -1 before the first."""
        if not len(self.time_ns):
            return np.full(len(time_ns), -1, np.int64)
        found = np.searchsorted(self.time_ns, time_ns, side="right") - 1
        return np.where(found >= 0, self.state[np.maximum(found, 0)], -1)


def read(raw_folder: Path, pid: int, window: int, modules: ModulePaths) -> LineStates | None:
    """Read the two files of a window; None when it has none."""
    numbers = raw_folder / rawfolder.WINDOW_LINES.name(pid, window)
    places = raw_folder / rawfolder.WINDOW_CODE.name(pid, window)
    if not numbers.exists() or not places.exists():
        return None
    raw = np.fromfile(numbers, dtype=np.int64)
    events = raw[: len(raw) // 4 * 4].reshape(-1, 4)
    return replay(events, json.loads(places.read_text(encoding="utf-8")), modules)


def replay(events: Array, places: list[list[str]], modules: ModulePaths) -> LineStates:
    """Run through the events and name the state after each."""
    states: list[State] = []
    known: dict[tuple[object, ...], int] = {}
    result = np.empty(len(events), np.int64)
    frames: list[tuple[int, int]] = []  # code number, line
    calls: list[int] = []  # addresses of modules, outermost first
    for index, (time_ns, kind, a, b) in enumerate(events.tolist()):
        if kind == LINE:
            if frames:
                frames[-1] = (a, b)
            else:
                frames.append((a, b))
        elif kind == ENTER:
            frames.append((a, b))
        elif kind == LEAVE:
            if frames:
                frames.pop()
        elif kind == MODULE:
            calls.append(a)
        elif kind == MODULE_END and calls:
            calls.pop()
        # A module made inside a forward (a loss, say) has no path of its own: it works for the one around it.
        names = (modules.path(call, time_ns, calls[0]) for call in reversed(calls))
        path = next((name for name in names if name is not None), None)
        key = (*frames, path)
        number = known.get(key)
        if number is None:
            number = known[key] = len(states)
            file, line = (places[frames[-1][0]][0], frames[-1][1]) if frames else (None, -1)
            stack = ";".join(f"{places[c][1]} ({places[c][0]}:{n})" for c, n in frames)
            states.append(State(file, line, stack, path))
        result[index] = number
    return LineStates(events[:, 0].copy() if len(events) else np.empty(0, np.int64), result, states)


def with_lines(ops: Table, states: LineStates, thread: int) -> Table:
    """`ops` of the followed thread with the line, stack and module that ran when each began."""
    state = np.where(ops.array("thread") == thread, states.at(ops.array("start_ns")), -1)
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
