"""raw/PID.native.bin → what the agent noted in a native torch program, as the log of a process.

In: events of `native/agent/steps` (phases; steps and regions of sonde.h), names of regions (PID.names.tsv), settings
(PID.native.json, and settings.json of the whole run). Out: ProcessMarks as a Python program's observer
leaves them, so that everything after this is the same for both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.events import Events
from sonde.ingest.observers.marks import ProcessMarks
from sonde.record.inside.events import (
    BACKWARD,
    DATALOADER_START,
    OPTIMIZER,
    REGION,
    TRAIN_STEP,
    USER_STEP,
)
from sonde.record.inside.steps import StepTracker

MOST_EPOCHS = 10_000  # more passes than this over a sampler are no epochs


def read(file: rawfolder.File) -> ProcessMarks:
    """One process, that ended in any way."""
    pid, _, path = file
    events = event_files.read(path)
    result = ProcessMarks(pid)
    if events.bad:
        result.losses.append(event_files.impossible(path, events.bad))
    names = _names(path.with_name(rawfolder.REGION_NAMES.name(pid)))
    result.marks += _user_steps(events) + _regions(events, names) + _epochs(events)
    phases = events.take(np.flatnonzero(~np.isin(events.code, (USER_STEP, REGION))))
    result.events = event_files.joined(phases, _training_steps(phases))
    if len(phases):
        told = _object(path.with_name(rawfolder.SETTINGS_OF_JOB))
        told |= _object(path.with_name(rawfolder.NATIVE_SETTINGS.name(pid)))
        first = int(phases.start_ns[0])
        place = {"number": -1, "start_ns": first, "end_ns": first, "tid": int(phases.tid[0])}
        result.marks.append({**told, "kind": "settings", "name": "", **place})
    return result


def join(logs: list[ProcessMarks], native: list[ProcessMarks]) -> list[ProcessMarks]:
    """Both in one log per process: a Python program may call C++ that marks regions."""
    by_pid = {log.pid: log for log in logs}
    for log in native:
        known = by_pid.get(log.pid)
        if known is None:
            logs = [*logs, log]
        else:
            known.marks += log.marks
            known.losses += log.losses
            known.events = event_files.joined(known.events, log.events)
    return logs


def _training_steps(events: Events) -> Events:
    """As the tracker of a Python program sees them, thread by thread."""
    rows: list[tuple[int, int, int, int, int, int]] = []
    numbers = iter(range(len(events) + 1))
    for tid in np.unique(events.tid[events.code == OPTIMIZER]).tolist():
        mine = events.take(np.flatnonzero(events.tid == tid))

        def emit(start: int, end: int, number: int, backwards: int, tid: int = tid) -> None:
            rows.append((tid, TRAIN_STEP, start, end, number, backwards))

        tracker = StepTracker(emit, lambda: next(numbers))
        for code, start, end, subject in zip(
            mine.code.tolist(), mine.start_ns.tolist(), mine.end_ns.tolist(), mine.a.tolist(), strict=True
        ):
            tracker.saw(start)
            if code == OPTIMIZER:
                tracker.optimizer_started(subject, start)
                tracker.optimizer_finished(subject, end)
            elif code == BACKWARD:
                tracker.backward()
            elif code == DATALOADER_START:
                tracker.loader_started(start)
        tracker.finish()
    return event_files.of(np.array(rows, np.int64))


def _user_steps(events: Events) -> list[dict[str, Any]]:
    """A call of sonde_step() ends a step that began where the one before ended, or with the thread's first event."""
    marks = []
    said = events.take(np.flatnonzero(events.code == USER_STEP))
    for tid in np.unique(said.tid).tolist():
        ends = said.end_ns[said.tid == tid].tolist()
        first = int(events.start_ns[events.tid == tid].min())
        for start, end in zip([first, *ends[:-1]], ends, strict=True):
            marks.append(_mark("step", "user", -1, start, end, tid))
    return marks


def _regions(events: Events, names: dict[int, str]) -> list[dict[str, Any]]:
    rows = events.take(np.flatnonzero(events.code == REGION))
    return [
        _mark("region", names.get(name, "(name lost)"), -1, start, end, tid)
        for name, start, end, tid in zip(
            rows.a.tolist(), rows.start_ns.tolist(), rows.end_ns.tolist(), rows.tid.tolist(), strict=True
        )
    ]


def _epochs(events: Events) -> list[dict[str, Any]]:
    """Passes over a data loader: each begins where its sampler is reset and lasts until another pass begins."""
    marks = []
    starts = events.take(np.flatnonzero(events.code == DATALOADER_START))
    if len(starts) > MOST_EPOCHS:
        return []
    passes: dict[int, int] = {}
    for i, (start, tid, sampler) in enumerate(
        zip(starts.start_ns.tolist(), starts.tid.tolist(), starts.a.tolist(), strict=True)
    ):
        until = int(starts.start_ns[i + 1]) if i + 1 < len(starts) else np.iinfo(np.int64).max
        inside = (events.tid == tid) & (events.start_ns > start) & (events.start_ns < until)
        end = int(events.end_ns[inside].max(initial=start))
        number = passes.get(sampler, 0)
        passes[sampler] = number + 1
        marks.append({**_mark("epoch", "dataloader", number, start, end, tid), "loader": sampler})
    return marks


def _mark(kind: str, name: str, number: int, start_ns: int, end_ns: int, tid: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "number": number,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "tid": tid,
    }


def _names(path: Path) -> dict[int, str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    rows = (line.split("\t", 1) for line in text.splitlines())
    return {int(row[0]): row[1] for row in rows if len(row) == 2 and row[0].isdigit()}


def _object(path: Path) -> dict[str, Any]:
    """A file with one JSON object; an empty one when there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
