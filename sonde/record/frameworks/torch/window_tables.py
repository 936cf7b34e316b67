"""raw/PID.windows.jsonl and what it names → `ops`, `memory`, `kernels`, `launches` of the recording.

The clock records of a window tie Kineto's clock to CLOCK_MONOTONIC (`clock_map`). Each operator then gets the line,
stack and module that ran when it began; the passes of `sonde.link` do the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.columns import Table
from sonde.errors import SondeError
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.observers.clock_map import ClockMap, clock_map
from sonde.link import link_calls
from sonde.link.clocks import from_epoch, on_our_clock
from sonde.record.frameworks.base import Reading, SourceTables
from sonde.record.frameworks.torch import line_states
from sonde.record.frameworks.torch.inside.kineto import CLOCK_NAME
from sonde.record.frameworks.torch.module_paths import ModulePaths

# Kineto's wall clock against ours, when no clock records tie them: read at one moment only.
OWN_UNCERTAINTY_NS = 100_000
TAKEN = ("ops", "memory", "kernels", "launches", "counters", "threads", "losses")


def windows(reading: Reading) -> list[SourceTables]:
    """The windows that Sonde opened."""
    found = []
    for pid, _, path in rawfolder.WINDOWS.find(reading.raw):
        process = reading.roster.process(pid)
        modules = ModulePaths.read(reading.raw / rawfolder.MODULES.name(pid))
        for window in _lines_of(path):
            try:
                found.append(_window(reading, pid, process, window, modules))
            except (SondeError, OSError, ValueError, KeyError, TypeError) as error:
                name = f"window {window.get('window')} of {path.name}"
                reading.lose(process, "window_unreadable", 1, "windows", f"{name}: {error}")
    return found


def own_traces(reading: Reading) -> list[SourceTables]:
    """The traces that the program's own profiler exported; their clock is the wall clock."""
    found = []
    for pid, _, path in rawfolder.OWN_TRACES.find(reading.raw):
        process = reading.roster.process(pid)
        for line in _lines_of(path):
            try:
                offset = int(line["epoch_offset_ns"])
                tables = on_our_clock(_trace(Path(line["path"])), from_epoch(offset))
                tables = reading.numbered(tables, process)
            except (SondeError, OSError, ValueError, KeyError, TypeError) as error:
                where = line.get("from", path.name)
                reading.lose(process, "own_trace_unreadable", 1, "files", f"{where}: {error}")
                continue
            found.append(SourceTables(link_calls(tables), OWN_UNCERTAINTY_NS))
    return found


def _window(
    reading: Reading, pid: int, process: int, window: dict[str, Any], modules: ModulePaths
) -> SourceTables:
    number = int(window["window"])
    trace = reading.raw / rawfolder.WINDOW_TRACE.name(pid, number)
    tables = _trace(trace)
    to_ours = _clock_map(tables["ops"], window["clock"])
    tables["ops"] = tables["ops"].take(~tables["ops"].text("name").equals(CLOCK_NAME))
    tables = reading.numbered(on_our_clock(tables, to_ours), process)
    states = line_states.read(reading.raw, pid, number, modules)
    if states is not None:
        followed = reading.roster.thread(process, window["tid"])
        tables["ops"] = line_states.with_lines(tables["ops"], states, followed)
    return SourceTables(link_calls(tables), to_ours.uncertainty_ns, to_ours.drift)


def _trace(path: Path) -> dict[str, Table]:
    decoded = kineto.decode(path)
    return {name: decoded[name] for name in TAKEN}


def _clock_map(ops: Table, clock: list[list[int]]) -> ClockMap:
    """By the clock records of the trace and the readings noted around them."""
    rows = np.flatnonzero(ops.text("name").equals(CLOCK_NAME))
    start, end = np.sort(ops.array("start_ns")[rows]), np.sort(ops.array("end_ns")[rows])
    return clock_map(start, end, np.asarray(clock, np.int64).reshape(-1, 2))


def _lines_of(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; what is none (a cut last line) is dropped."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found
