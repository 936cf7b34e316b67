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
from sonde.ingest.observers import collectives as collective_files
from sonde.ingest.observers import events as event_files
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
    noted = collective_files.Noted()
    told = {log.pid: log.groups for log in logs}
    seen = {file.pid: collective_files.read(file.path) for file in rawfolder.NATIVE_EVENTS.find(raw)}
    for pid in sorted({*seen, *(pid for pid, groups in told.items() if groups)}):
        calls = seen.get(pid, collective_files.calls_of(event_files.none()))
        noted.add(roster.process(pid), calls, told.get(pid, []), roster)
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
    tables |= noted.tables()
    primitives = read_primitives(raw, roster)
    tables["primitives"] = primitives.table
    tables["losses"] = build.concat("losses", [said, loss_table(losses), tables["losses"], primitives.losses])
    tables["processes"], tables["threads"] = with_inherited_ranks(roster.processes()), roster.threads()
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
    told = {name: facts[name] for name in ("rank", "world_size", "local_rank", "host") if name in facts}
    role = log.job_role or facts.get("job_role")
    if log.groups:  # what the program said when it made its default group is the truth
        told |= {"rank": log.groups[0]["rank"], "world_size": log.groups[0]["size"]}
    roster.know(process, runtime=f"python {facts['python']}", job_role=role, **told)
    if told["rank"] >= 0 and (log.groups or not facts["forked"]):
        roster.know(process, role="rank")


def with_inherited_ranks(processes: Table) -> Table:
    """Children of a rank (data-loading workers) are of that rank; a launcher between them is not."""
    rank, size = processes.array("rank").copy(), processes.array("world_size").copy()
    local = processes.array("local_rank").copy()
    row_of = {number: row for row, number in enumerate(processes.array("process").tolist())}
    for row, parent in enumerate(processes.array("parent").tolist()):
        above, hops = row_of.get(parent), 0
        while rank[row] < 0 and above is not None and hops < len(rank):
            rank[row], size[row], local[row] = rank[above], size[above], local[above]
            above, hops = row_of.get(int(processes.array("parent")[above])), hops + 1
    return processes.with_columns(rank=rank, world_size=size, local_rank=local)


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
