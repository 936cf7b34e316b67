"""A job that still runs, as a recording of its last seconds.

Enters: the folder of a recording that is being made (`sonde run`, `sonde attach`), while it grows. Leaves, at any
moment, an ordinary `Recording` in memory, made by the code that makes finished ones: every view and analysis works on
it, and says the same as the finished recording will. Reading costs what came since the last poll, not what there is.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.columns import Table
from sonde.errors import InputError
from sonde.ingest.agent.process_table import ProcessFacts, process_rows
from sonde.ingest.observers import marks as mark_files
from sonde.ingest.observers.roster import Roster
from sonde.link import link_recording
from sonde.live.followed_process import FollowedProcess, Names
from sonde.live.picture import Picture, picture
from sonde.live.watch.loop import StepSeen
from sonde.store import build
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.symbols.resolver import Resolver

ABANDONED_S = 30.0
STEPS_BACK_NS = 5_000_000_000  # events before a step that tell what it is
MOST_STACKS = 200_000  # interned; a job that has shown more begins anew, so that memory stays bounded


class Following:
    """Poll it every second or so; `recording` gives the last seconds up to the last poll."""

    def __init__(self, folder: Path, keep_s: float = 60.0) -> None:
        if not (folder / rawfolder.FOLDER).is_dir():
            raise InputError(f"{folder} is not a recording in progress", "give the folder of one that runs")
        self.folder = folder
        self.keep_ns = round(keep_s * 1e9)
        self._raw = folder / rawfolder.FOLDER
        self._names = Names(Resolver(with_lines=False))
        self._processes: dict[Path, FollowedProcess] = {}
        self._refused: set[Path] = set()
        self.meta = self._read_meta()
        self._ended_at: float | None = None

    def poll(self) -> bool:
        """Take in what has come since; whether there was anything."""
        for file in rawfolder.LOG.find(self._raw):
            if file.path not in self._processes and file.path not in self._refused:
                try:
                    self._processes[file.path] = FollowedProcess(file, self.keep_ns)
                except (OSError, InputError):
                    self._refused.add(file.path)
        found = [one.poll(self._names) for one in list(self._processes.values())]
        for path, one in list(self._processes.items()):
            if one.is_past and len(self._processes) > 1:
                self._processes.pop(path).close()
                self._refused.add(path)
        if len(self._names.stacks) > MOST_STACKS:
            self._begin_anew()
        return any(found)

    @property
    def ended(self) -> bool:
        """Every process that was seen has said that it ended."""
        return bool(self._processes) and all(one.ended for one in self._processes.values())

    def is_over(self) -> bool:
        """The recording is finished, or all have ended and nobody finishes it."""
        if not self._raw.is_dir() or self._read_meta().complete:
            return True
        if not self.ended:
            self._ended_at = None
            return False
        self._ended_at = self._ended_at or time.monotonic()
        return time.monotonic() - self._ended_at > ABANDONED_S

    def pids(self) -> list[int]:
        """Those that have not said that they ended."""
        return [one.pid for one in self._processes.values() if not one.ended]

    def covered_s(self, seconds: float) -> float:
        """How much of the last `seconds` the job was there for."""
        starts = [one.log.header.start_ns for one in self._processes.values() if one.log is not None]
        age_ns = time.monotonic_ns() - min(starts, default=time.monotonic_ns())
        return max(min(seconds, self.keep_ns / 1e9, age_ns / 1e9), 1e-3)

    def close(self) -> None:
        for one in self._processes.values():
            one.close()

    def recording(self, seconds: float | None = None) -> Recording:
        """The last `seconds` before now (all that is kept without), linked like any recording."""
        now = time.monotonic_ns()
        since = now - min(round((seconds or 1e9) * 1e9), self.keep_ns)
        known = [one for one in self._processes.values() if one.part is not None and one.log is not None]
        known.sort(key=lambda one: one.log.header.start_ns if one.log else 0)
        tables = self._agent_tables(known, since)
        roster = Roster(tables["processes"], tables["threads"])
        marks, losses = mark_files.tables([one.marks(since) for one in known], roster)
        tables |= {"marks": marks, "processes": roster.processes(), "threads": roster.threads()}
        tables["losses"] = build.concat("losses", [losses, loss_table(_losses(known))])
        return Recording(self.meta, link_recording(tables))

    def steps(self, since_ns: int) -> list[StepSeen]:
        """Steps that ended after that time, oldest first; told by marks alone, without samples."""
        found = []
        for one in self._processes.values():
            roster = Roster(build.empty("processes"), build.empty("threads"))
            marks, _ = mark_files.tables([one.marks(since_ns - STEPS_BACK_NS)], roster)
            steps = marks.take(marks.text("kind").equals("step") & (marks.array("end_ns") > since_ns))
            pairs = zip(steps.array("start_ns").tolist(), steps.array("end_ns").tolist(), strict=True)
            found += [StepSeen(one.pid, start, end) for start, end in pairs]
        return sorted(found, key=lambda step: step.end_ns)

    def look(self, seconds: float) -> tuple[Picture, Recording]:
        """Poll, and show the last seconds."""
        self.poll()
        recording = self.recording(seconds)
        return picture(recording, self.covered_s(seconds)), recording

    def _agent_tables(self, known: list[FollowedProcess], since: int) -> dict[str, Table]:
        threads, samples, counters = [], [], []
        first = 0
        for number, one in enumerate(known):
            table = one.threads()
            count = len(table)
            threads.append(
                table.with_columns(
                    process=np.full(count, number, table.array("process").dtype),
                    thread=np.arange(first, first + count, dtype=table.array("thread").dtype),
                )
            )
            samples += [_of_job(part, first, since) for part in one.samples()]
            counters += [
                part.take(part.array("time_ns") >= since).with_columns(
                    process=np.full(int((part.array("time_ns") >= since).sum()), number, np.int32)
                )
                for part in one.counters()
            ]
            first += count
        joined = build.concat("samples", samples)
        logs = [one.log for one in known if one.log is not None]
        parts = [one.part for one in known if one.part is not None]
        return {
            "processes": process_rows(logs, parts, {one.pid: _facts(one) for one in known}),
            "threads": build.concat("threads", threads),
            "frames": self._names.frames.table(),
            "stacks": self._names.stacks.table(),
            "samples": joined.take(joined.array("time_ns").argsort(kind="stable")),
            "counters": build.concat("counters", counters),
        }

    def _begin_anew(self) -> None:
        """Names and what refers to them are forgotten; what is polled from now on is named again."""
        self._names = Names(self._names.addresses)
        for one in self._processes.values():
            one.forget()

    def _read_meta(self) -> Meta:
        try:
            return Meta.read(self.folder)
        except (InputError, OSError):
            return Meta(program=self.folder.stem, complete=False)


def _of_job(part: Table, first: int, since: int) -> Table:
    """Samples after `since`, with the job's thread numbers."""
    part = part.take(part.array("time_ns") >= since)
    columns = {}
    for name in ("thread", "owner"):
        local = part.array(name)
        columns[name] = np.where(local >= 0, local + first, local).astype(local.dtype)
    return part.with_columns(**columns)


def _facts(one: FollowedProcess) -> ProcessFacts:
    facts = one.marks(0).facts
    rank = facts.get("rank", -1)
    return (
        ProcessFacts(rank=rank, world_size=facts.get("world_size", -1))
        if isinstance(rank, int)
        else ProcessFacts()
    )


def _losses(known: list[FollowedProcess]) -> list[Loss]:
    """Since the job was first looked at."""
    return [
        Loss(number, cause, count, unit, "")
        for number, one in enumerate(known)
        for (cause, unit), count in one.losses.items()
    ]
