"""raw/PID.window-N.lines.*: what line, stack and module the program was in at any moment of a window.

In: the events of `sonde.record.observe.lines`. Out: for each moment, a state with
the innermost followed line, the whole stack of followed lines, and the module path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde.columns import Array
from sonde.ingest.observers.module_paths import ModulePaths
from sonde.record.observe.lines import ENTER, LEAVE, LINE, MODULE, MODULE_END


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


def read(base: Path, modules: ModulePaths) -> LineStates | None:
    """Read BASE.lines.bin and .json; None when the window has none."""
    numbers, places = Path(f"{base}.lines.bin"), Path(f"{base}.lines.json")
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
