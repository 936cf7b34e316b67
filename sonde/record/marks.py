"""raw/PID.marks*.jsonl → rows of `marks` and `losses`, and what the process said about itself.

Steps of training were decided while the program ran. A process that never trained
gets its steps here: each call of the root module that took most time, up to the end of the
last module call before the next one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonde.columns import Table
from sonde.record.observe.log import read_lines
from sonde.record.roster import Roster
from sonde.store import build

MARK_KINDS = ("step", "epoch", "region", "phase", "window", "compile", "gc", "tensors", "settings")
OWN_MEMBERS = ("kind", "name", "number", "start_ns", "end_ns", "tid")


@dataclass
class ProcessMarks:
    """What one log holds."""

    pid: int
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    losses: list[dict[str, Any]] = field(default_factory=list)


def read(path: Path) -> ProcessMarks:
    """Read one log, whole or torn."""
    result = ProcessMarks(int(path.name.split(".")[0]))
    bad = 0
    for line in read_lines(str(path)):
        try:
            row = json.loads(line)
            kind = row["kind"]
        except (ValueError, KeyError, TypeError):
            bad += 1
            continue
        if kind == "process":
            result.facts = row
        elif kind == "version":
            result.versions[row["name"]] = row["value"]
        elif kind == "loss":
            result.losses.append(row)
        elif kind in MARK_KINDS:
            result.marks.append(row)
    if bad:
        detail = f"lines of {path.name} that are no JSON"
        result.losses.append({"cause": "bad_mark", "count": bad, "unit": "events", "detail": detail})
    said = [row for row in result.marks if row["kind"] == "step" and row["name"] == "user"]
    if said:
        # The program's own word on what a step is counts more than what was found.
        result.marks = [row for row in result.marks if row["kind"] != "step" or row["name"] == "user"]
        for number, row in enumerate(said):
            row["number"] = number
    elif not any(row["kind"] == "step" for row in result.marks):
        result.marks += inference_steps(result.marks)
    return result


def inference_steps(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps of a process that does not train, from its outermost module calls."""
    calls = [row for row in marks if row["name"] == "forward" and row["kind"] == "phase"]
    by_thread: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in calls:
        by_thread[row["tid"]].append(row)
    steps = []
    for tid, mine in by_thread.items():
        mine.sort(key=lambda row: row["start_ns"])
        time_of: dict[int, int] = defaultdict(int)
        for row in mine:
            time_of[row["pointer"]] += row["end_ns"] - row["start_ns"]
        anchor = max(time_of, key=lambda pointer: time_of[pointer])
        start = end = -1
        for row in mine:
            calls = row.get("calls", 1)
            if row["pointer"] == anchor:
                if start >= 0:
                    steps.append((start, end, tid))
                start = row["start_ns"]
                # A burst of short calls: as many steps of the average duration.
                each = (row["end_ns"] - start) // calls
                steps += [(start + i * each, start + (i + 1) * each, tid) for i in range(calls - 1)]
                start += (calls - 1) * each
            end = row["end_ns"]
        steps.append((start, end, tid))
    steps.sort()
    return [
        {"kind": "step", "name": "inference", "number": i, "start_ns": s, "end_ns": e, "tid": tid}
        for i, (s, e, tid) in enumerate(steps)
    ]


def tables(logs: list[ProcessMarks], roster: Roster) -> tuple[Table, Table]:
    """`marks` and `losses` of all logs."""
    marks: list[tuple[Any, ...]] = []
    losses: list[tuple[Any, ...]] = []
    for log in logs:
        process = roster.process(log.pid)
        for row in sorted(log.marks, key=lambda row: (row["start_ns"], -row["end_ns"])):
            if row["kind"] == "window" and row["name"] == "open":
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
        opened = {row["number"] for row in log.marks if row["kind"] == "window" and row["name"] == "open"}
        closed = {row["number"] for row in log.marks if row["kind"] == "window" and row["name"] != "open"}
        for number in sorted(opened - closed):
            detail = f"the process ended while window {number} was open"
            losses.append((process, "window_unfinished", 1, "windows", detail))
        for row in log.losses:
            losses.append((process, row["cause"], row["count"], row["unit"], row["detail"]))
    columns = ("mark", "process", "thread", "kind", "name", "number", "start_ns", "end_ns", "extra")
    return _table("marks", columns, marks), _table(
        "losses", ("process", "cause", "count", "unit", "detail"), losses
    )


def _table(name: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Table:
    if not rows:
        return build.empty(name)
    return build.table(name, len(rows), **dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
