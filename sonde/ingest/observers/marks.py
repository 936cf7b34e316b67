"""raw/PID.marks*.jsonl and raw/PID.events*.bin → rows of `marks` and `losses`, and the process's own facts.

Steps of training were decided while the program ran; what the program itself calls a step counts
more. A process without either gets its steps from `found_steps`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.columns import Array, Table, Text
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.events import Events
from sonde.ingest.observers.found_steps import found_steps
from sonde.ingest.observers.roster import Roster
from sonde.record.inside.events import FORWARD, PHASE_NAMES, TRAIN_STEP
from sonde.record.inside.log import read_lines
from sonde.store import build
from sonde.store.losses import Loss, loss_table

MARK_KINDS = (
    "step",
    "epoch",
    "region",
    "phase",
    "window",
    "compile",
    "gc",
    "pause",
    "tensors",
    "settings",
    "values",
    "loop",
)
OWN_MEMBERS = ("kind", "name", "number", "start_ns", "end_ns", "tid")


@dataclass
class ProcessMarks:
    """What one log holds."""

    pid: int
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)  # of process -1 until the roster knows its number
    events: Events = field(default_factory=event_files.none)
    groups: list[dict[str, Any]] = field(default_factory=list)  # process groups, the default one first
    job_role: str | None = None  # by sonde.role()


def read(file: rawfolder.File) -> ProcessMarks:
    """Read one log, whole or torn."""
    result = ProcessMarks(file.pid)
    path = file.path
    bad = sum(not take_line(result, line) for line in read_lines(str(path)))
    if bad:
        result.losses.append(Loss(-1, "bad_mark", bad, "events", f"lines of {path.name} that are not JSON"))
    beside = path.with_name(rawfolder.EVENTS.name(file.pid, file.number))
    if beside.exists():
        result.events = event_files.read(beside)
        if result.events.bad:
            result.losses.append(event_files.impossible(beside, result.events.bad))
    return result


def take_line(marks: ProcessMarks, line: str) -> bool:
    """Add what a line says; False when it is none of a log."""
    try:
        row = json.loads(line)
        kind = row["kind"]
    except (ValueError, KeyError, TypeError):
        return False
    if kind == "process":
        marks.facts = row
    elif kind == "version":
        marks.versions[row["name"]] = row["value"]
    elif kind == "loss":
        try:
            said = (str(row["cause"]), int(row["count"]), str(row["unit"]), str(row["detail"]))
        except (KeyError, TypeError, ValueError):
            return False
        marks.losses.append(Loss(-1, *said))
    elif kind == "group":
        marks.groups.append(row)
    elif kind == "role":
        marks.job_role = str(row.get("name") or "") or None
    elif kind in MARK_KINDS:
        marks.marks.append(row)
    return True


def tables(logs: list[ProcessMarks], roster: Roster) -> tuple[Table, Table]:
    """`marks` and `losses` of all logs."""
    marks: list[tuple[Any, ...]] = []
    parts: list[Table] = []
    losses: list[Loss] = []
    for log in logs:
        process = roster.process(log.pid)
        for row in sorted(log.marks, key=lambda row: (row["start_ns"], -row["end_ns"])):
            if row["kind"] == "step" or (row["kind"] == "window" and row["name"] == "open"):
                continue  # its closing line says all; an open one without it is a loss
            thread = roster.thread(process, row["tid"])
            extra = {name: value for name, value in row.items() if name not in OWN_MEMBERS}
            marks.append(
                (
                    len(marks),
                    process,
                    thread,
                    row["kind"],
                    row["name"],
                    row["number"],
                    row["start_ns"],
                    row["end_ns"],
                    json.dumps(extra) if extra else None,
                )
            )
        parts += [_phases(log.events, process, roster), _steps(log, process, roster)]
        opened = {row["number"] for row in log.marks if row["kind"] == "window" and row["name"] == "open"}
        closed = {row["number"] for row in log.marks if row["kind"] == "window" and row["name"] != "open"}
        for number in sorted(opened - closed):
            detail = f"the process ended while window {number} was open"
            losses.append(Loss(process, "window_unfinished", 1, "windows", detail))
        losses += [replace(loss, process=process) for loss in log.losses]
    columns = ("mark", "process", "thread", "kind", "name", "number", "start_ns", "end_ns", "extra")
    table = build.concat("marks", [_table("marks", columns, marks), *parts])
    order = np.lexsort((-table.array("end_ns"), table.array("start_ns"), table.array("process")))
    table = table.take(order).with_columns(mark=np.arange(len(table), dtype=np.int32))
    return table, loss_table(losses)


def _phases(events: Events, process: int, roster: Roster) -> Table:
    rows = events.take(np.flatnonzero(events.code != TRAIN_STEP))
    codes = list(PHASE_NAMES)
    place = {code: index for index, code in enumerate(codes)}
    names = Text(
        np.array([place[code] for code in rows.code.tolist()], np.int32),
        [PHASE_NAMES[code] for code in codes],
    )
    extra = [_told(*one) for one in zip((rows.code == FORWARD).tolist(), rows.b.tolist(), strict=True)]
    return build.table(
        "marks",
        len(rows),
        process=np.full(len(rows), process),
        thread=_threads(rows.tid, process, roster),
        kind=Text.full(len(rows), "phase"),
        name=names,
        start_ns=rows.start_ns,
        end_ns=rows.end_ns,
        extra=Text.of(extra),
    )


def _told(with_grad: bool, calls: int) -> str | None:
    """What a phase says beside its time: a forward pass with gradients on, a burst of so many calls."""
    if calls >= 2:
        return json.dumps({"calls": calls})
    return '{"grad": true}' if with_grad else None


def _steps(log: ProcessMarks, process: int, roster: Roster) -> Table:
    """The steps of one process: as the program said, as seen, or as found."""
    said = [row for row in log.marks if row["kind"] == "step"]
    seen = log.events.take(np.flatnonzero(log.events.code == TRAIN_STEP))
    if said:
        start, end, tid = (
            np.array([row[key] for row in said], np.int64) for key in ("start_ns", "end_ns", "tid")
        )
        return _step_table("user", start, end, tid, range(len(said)), process, roster)
    if len(seen):
        table = _step_table("train", seen.start_ns, seen.end_ns, seen.tid, seen.a, process, roster)
        counts, of_step = np.unique(
            seen.b, return_inverse=True
        )  # few differ, and there may be a million steps
        told = [
            json.dumps({"backwards": count} if count >= 0 else {"phases": False}) for count in counts.tolist()
        ]
        return table.with_columns(extra=Text.of(told).take(of_step.ravel()))
    found = found_steps(log.events)
    if found is None:
        return build.empty("marks")
    name, start, end, tid = found
    return _step_table(name, start, end, tid, range(len(start)), process, roster)


def _step_table(
    name: str,
    start: Array,
    end: Array,
    tid: Array,
    numbers: Sequence[int] | Array,
    process: int,
    roster: Roster,
) -> Table:
    return build.table(
        "marks",
        len(start),
        process=np.full(len(start), process),
        thread=_threads(tid, process, roster),
        kind=Text.full(len(start), "step"),
        name=Text.full(len(start), name),
        number=np.asarray(numbers, np.int32),
        start_ns=start,
        end_ns=end,
    )


def _threads(tid: Array, process: int, roster: Roster) -> Array:
    distinct, at = np.unique(tid, return_inverse=True)
    return np.array([roster.thread(process, number) for number in distinct.tolist()], np.int32)[at.ravel()]


def _table(name: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Table:
    if not rows:
        return build.empty(name)
    return build.table(name, len(rows), **dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
