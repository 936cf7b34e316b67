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

from sonde import rawfolder
from sonde.columns import Table
from sonde.ingest.observers import marks as mark_files
from sonde.ingest.observers import native_marks
from sonde.ingest.observers.primitives import read_primitives
from sonde.ingest.observers.roster import Roster
from sonde.record.frameworks.base import Reading
from sonde.record.frameworks.known import FRAMEWORKS
from sonde.store import build
from sonde.store.losses import Loss, loss_table

PER_SOURCE = ("ops", "memory", "kernels", "launches", "counters", "losses")


@dataclass(frozen=True)
class Told:
    """What frameworks told. `tables` replaces the agent's `processes` and `threads`; add its `losses`."""

    tables: dict[str, Table]
    clock_uncertainty_ns: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    windows: int = 0
    details: dict[str, object] = field(default_factory=dict)  # for meta.details


def framework_tables(raw: Path, processes: Table | None = None, threads: Table | None = None) -> Told:
    """Collect everything in `raw`."""
    roster = Roster(processes, threads)
    logs = [mark_files.read(file) for file in rawfolder.MARKS.find(raw)]
    logs = native_marks.join(logs, [native_marks.read(file) for file in rawfolder.NATIVE_EVENTS.find(raw)])
    for log in logs:
        _know(roster, log)
    reading = Reading(raw, roster, {log.pid: log.facts.get("epoch_offset_ns", 0) for log in logs})
    found = [source for framework in FRAMEWORKS for source in framework.read(reading)]
    losses = (
        reading.losses + _trouble(raw, roster) + _not_entered(roster, {log.pid for log in logs if log.facts})
    )
    marks, said = mark_files.tables(logs, roster)
    marks = build.concat("marks", [marks, *(w.tables["marks"] for w in found if "marks" in w.tables)])
    marks = marks.with_columns(mark=np.arange(len(marks), dtype=np.int32))
    tables = {
        name: build.concat(name, [w.tables[name] for w in found if name in w.tables]) for name in PER_SOURCE
    }
    tables["marks"] = marks
    primitives = read_primitives(raw, roster)
    tables["primitives"] = primitives.table
    tables["losses"] = build.concat("losses", [said, loss_table(losses), tables["losses"], primitives.losses])
    tables["processes"], tables["threads"] = roster.processes(), roster.threads()
    versions = {name: value for log in logs for name, value in log.versions.items()} | primitives.versions
    uncertainty = max((window.uncertainty_ns for window in found), default=0)
    windows = sum("ops" in window.tables for window in found)
    drift = max((window.clock_drift for window in found), key=abs, default=0.0)
    details = {**primitives.details, "torch_clock_drift": drift}
    return Told(tables, uncertainty, versions, windows, details)


def _know(roster: Roster, log: mark_files.ProcessMarks) -> None:
    facts = log.facts
    process = roster.process(log.pid)
    if not facts:
        return
    roster.know(process, rank=facts["rank"], world_size=facts["world_size"])
    roster.know(process, runtime=f"python {facts['python']}")
    if facts["rank"] >= 0 and not facts["forked"]:
        roster.know(process, role="rank")


def _trouble(raw: Path, roster: Roster) -> list[Loss]:
    """What the bootstrap could not do."""
    found = []
    for pid, _, path in rawfolder.TROUBLE.find(raw):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        why = lines[0] if lines else ""
        found.append(Loss(roster.process(pid), "observer_failed", len(lines), "events", why))
    return found


def _not_entered(roster: Roster, entered: set[int]) -> list[Loss]:
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
            found.append(Loss(number, "bootstrap_not_entered", 1, "processes", detail))
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
