"""After the run: what the observers left in raw/ → tables, joined with the agent's.

In: the raw folder, and the agent's `processes` and `threads` where there are. Out:
`marks`, `ops`, `memory`, `kernels`, `launches`, `losses` and both rosters, all on CLOCK_MONOTONIC.
A file that cannot be read is a loss with its name, never an error: the rest stands.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sonde.columns import Table
from sonde.errors import SondeError
from sonde.ingest.observers import marks as mark_files
from sonde.ingest.observers.module_paths import ModulePaths
from sonde.ingest.observers.native_calls import read_calls, read_notes
from sonde.ingest.observers.primitives import read_primitives
from sonde.ingest.observers.roster import Roster
from sonde.ingest.observers.window_tables import (
    Numbering,
    WindowTables,
    read_mxnet_trace,
    read_own_trace,
    read_window,
    read_window_lines,
)
from sonde.store import build

PER_WINDOW = ("ops", "memory", "kernels", "launches", "counters", "losses")


@dataclass(frozen=True)
class Framework:
    """What frameworks told. `tables` replaces the agent's `processes` and `threads`; add its `losses`."""

    tables: dict[str, Table]
    clock_uncertainty_ns: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    windows: int = 0
    details: dict[str, object] = field(default_factory=dict)  # for meta.details


def framework_tables(raw: Path, processes: Table | None = None, threads: Table | None = None) -> Framework:
    """Collect everything in `raw`."""
    roster = Roster(processes, threads)
    logs = [mark_files.read(path) for path in sorted(raw.glob("*.marks*.jsonl"))]
    for log in logs:
        _know(roster, log)
    numbering = Numbering()
    losses: list[tuple[int, str, int, str, str]] = []
    found = _windows(raw, roster, numbering, losses) + _own_traces(raw, roster, numbering, losses)
    offsets = {log.pid: log.facts.get("epoch_offset_ns", 0) for log in logs}
    found += _mxnet_traces(raw, roster, numbering, offsets, losses)
    found += _native_calls(raw, roster, numbering, losses)
    losses += _trouble(raw, roster)
    losses += _not_entered(roster, {log.pid for log in logs})
    marks, said = mark_files.tables(logs, roster)
    marks = build.concat("marks", [marks, *(w.tables["marks"] for w in found if "marks" in w.tables)])
    marks = marks.with_columns(mark=np.arange(len(marks), dtype=np.int32))
    tables = {
        name: build.concat(name, [w.tables[name] for w in found if name in w.tables]) for name in PER_WINDOW
    }
    tables["marks"] = marks
    primitives = read_primitives(raw, roster, tables["ops"])
    tables["primitives"] = primitives.table
    tables["losses"] = build.concat("losses", [said, _losses(losses), tables["losses"], primitives.losses])
    tables["processes"], tables["threads"] = roster.processes(), roster.threads()
    versions = {name: value for log in logs for name, value in log.versions.items()} | primitives.versions
    uncertainty = max((window.uncertainty_ns for window in found), default=0)
    windows = sum("ops" in window.tables for window in found)
    drift = max((window.clock_drift for window in found), key=abs, default=0.0)
    details = {**primitives.details, "torch_clock_drift": drift}
    return Framework(tables, uncertainty, versions, windows, details)


def _windows(
    raw: Path, roster: Roster, numbering: Numbering, losses: list[tuple[int, str, int, str, str]]
) -> list[WindowTables]:
    """The windows that Sonde opened."""
    found = []
    for path in sorted(raw.glob("*.windows.jsonl")):
        pid = int(path.name.split(".")[0])
        process = roster.process(pid)
        modules = ModulePaths.read(raw / f"{pid}.modules.jsonl")
        for window in read_window_lines(path):
            base = raw / f"{pid}.window-{window['window']}"
            try:
                found.append(read_window(base, window, process, roster, modules, numbering))
            except (SondeError, OSError, ValueError) as error:
                losses.append((process, "window_unreadable", 1, "windows", f"{base.name}.json: {error}"))
    return found


def _own_traces(
    raw: Path, roster: Roster, numbering: Numbering, losses: list[tuple[int, str, int, str, str]]
) -> list[WindowTables]:
    """The traces that the program's own profiler exported."""
    found = []
    for path in sorted(raw.glob("*.own-traces.jsonl")):
        process = roster.process(int(path.name.split(".")[0]))
        for line in read_window_lines(path):
            try:
                trace = Path(line["path"])
                found.append(read_own_trace(trace, line["epoch_offset_ns"], process, roster, numbering))
            except (SondeError, OSError, ValueError) as error:
                losses.append((process, "own_trace_unreadable", 1, "files", f"{line['from']}: {error}"))
    return found


def _mxnet_traces(
    raw: Path,
    roster: Roster,
    numbering: Numbering,
    offsets: dict[int, int],
    losses: list[tuple[int, str, int, str, str]],
) -> list[WindowTables]:
    """The traces that MXNet's profiler wrote for us."""
    found = []
    for path in sorted(raw.glob("*.mxnet.json")):
        pid = int(path.name.split(".")[0])
        process = roster.process(pid)
        try:
            found.append(read_mxnet_trace(path, offsets.get(pid, 0), process, roster, numbering))
        except (SondeError, OSError, ValueError) as error:
            losses.append((process, "mxnet_trace_unreadable", 1, "files", f"{path.name}: {error}"))
    return found


def _native_calls(
    raw: Path, roster: Roster, numbering: Numbering, losses: list[tuple[int, str, int, str, str]]
) -> list[WindowTables]:
    """What the observer saw in native torch programs (`--shapes`), and why it saw nothing in others."""
    found = []
    for path in sorted(raw.glob("*.calls.bin")):
        process = roster.process(int(path.name.split(".")[0]))
        try:
            calls = read_calls(path, process, roster, numbering.op)
        except (OSError, ValueError) as error:
            losses.append((process, "shapes_unreadable", 1, "files", f"{path.name}: {error}"))
            continue
        numbering.op += len(calls.ops)
        found.append(WindowTables({"ops": calls.ops, "marks": calls.marks, "losses": calls.losses}, 0))
    for path in sorted(raw.glob("*shapes.txt")):
        first = path.name.split(".")[0]
        process = roster.process(int(first)) if first.isdigit() else -1
        found.append(WindowTables({"losses": read_notes(path, process)}, 0))
    return found


def _know(roster: Roster, log: mark_files.ProcessMarks) -> None:
    facts = log.facts
    process = roster.process(log.pid)
    if not facts:
        return
    roster.know(process, rank=facts["rank"], world_size=facts["world_size"])
    roster.know(process, runtime=f"python {facts['python']}")
    if facts["rank"] >= 0 and not facts["forked"]:
        roster.know(process, role="rank")


def _trouble(raw: Path, roster: Roster) -> list[tuple[int, str, int, str, str]]:
    """What the bootstrap could not do."""
    found = []
    for path in sorted(raw.glob("*.trouble.txt")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        process = roster.process(int(path.name.split(".")[0]))
        found.append((process, "observer_failed", len(lines), "events", lines[0] if lines else ""))
    return found


def _not_entered(roster: Roster, entered: set[int]) -> list[tuple[int, str, int, str, str]]:
    """Python processes that were started so that PYTHONPATH or sitecustomize is ignored."""
    table = roster.processes()
    found = []
    for number, pid, command in zip(
        table.array("process").tolist(),
        table.array("pid").tolist(),
        table.text("command").tolist(),
        strict=True,
    ):
        flag = _isolating_flag(command or "")
        if pid not in entered and flag:
            detail = f"python {flag} ignores PYTHONPATH or sitecustomize: no steps, no operator windows"
            found.append((number, "bootstrap_not_entered", 1, "processes", detail))
    return found


def _isolating_flag(command: str) -> str | None:
    """The option of the interpreter (before script, -c or -m) that keeps the bootstrap out."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if not words or "python" not in Path(words[0]).name:
        return None
    takes_value = False
    for word in words[1:]:
        if takes_value:
            takes_value = False
            continue
        if not word.startswith("-") or word == "-" or word.startswith("--"):
            return None
        for letter in word[1:]:
            if letter in "ISE":
                return f"-{letter}"
            if letter in "cm":
                return None
            if letter in "WX":
                takes_value = word.endswith(letter)
                break
    return None


def _losses(rows: list[tuple[int, str, int, str, str]]) -> Table:
    if not rows:
        return build.empty("losses")
    names = ("process", "cause", "count", "unit", "detail")
    return build.table(
        "losses", len(rows), **dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    )
