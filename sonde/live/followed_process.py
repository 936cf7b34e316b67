"""One process of a job that still runs: what it adds to its raw files, poll by poll.

Enters: its log, events, marks and module names in raw/ while they grow. Leaves: the parts of a recording's tables that
came since the last poll. What is older than `keep_ns` is forgotten.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from sonde import rawfolder
from sonde.columns import Array, Table
from sonde.ingest.agent.followed_log import FollowedLog
from sonde.ingest.agent.frame_table import FrameTable
from sonde.ingest.agent.log import RawLog
from sonde.ingest.agent.modules import module_names, raw_modules, with_modules
from sonde.ingest.agent.native_frames import AddressNames
from sonde.ingest.agent.process import ProcessTables, assemble_process
from sonde.ingest.agent.stack_table import StackTable
from sonde.ingest.agent.used import only_used
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.events import Events
from sonde.ingest.observers.followed_events import FollowedEvents
from sonde.ingest.observers.followed_marks import FollowedMarks, ended_ns
from sonde.ingest.observers.marks import ProcessMarks
from sonde.live.thread_roster import ThreadRoster

MOST_THREADS = 10_000  # known; with more, samples of the earlier ones are forgotten


@dataclass(frozen=True)
class Names:
    """What all processes share: interned frames and stacks, and who names addresses."""

    addresses: AddressNames
    frames: FrameTable = field(default_factory=FrameTable)
    stacks: StackTable = None  # type: ignore[assignment]  # made from `frames`

    def __post_init__(self) -> None:
        object.__setattr__(self, "stacks", StackTable(self.frames))


class FollowedProcess:
    """`threads` of its samples are numbers of its own, from 0; `sonde.live.following` gives them those of the job."""

    def __init__(self, file: rawfolder.File, keep_ns: int) -> None:
        self.pid = file.pid
        self.log: RawLog | None = None  # the newest part, without its samples
        self.part: ProcessTables | None = None
        self.losses: dict[tuple[str, str], int] = {}
        self._raw = file.path.parent
        self._keep_ns = keep_ns
        self._follower = FollowedLog(file.path)
        self._events = FollowedEvents(self._raw / rawfolder.EVENTS.name(self.pid))
        self._samples: deque[Table] = deque()
        self._counters: deque[Table] = deque()
        self._recent: Events = event_files.none()
        self._marks = FollowedMarks(self.pid, self._raw / rawfolder.MARKS.name(self.pid))
        self._modules_size = -1
        self._module_names = raw_modules([])
        self._roster = ThreadRoster()

    def poll(self, names: Names) -> bool:
        """Take in what has come; whether there was anything."""
        log = self._follower.poll()
        fresh = self._events.poll()
        if len(fresh):
            self._recent = event_files.joined(self._recent, fresh)
            self._recent = self._recent.take(np.flatnonzero(self._recent.end_ns >= self._oldest_ns()))
        self._marks.poll(self._oldest_ns())
        if log is None:
            return bool(len(fresh))
        self._take(log, names)
        return True

    def samples(self) -> list[Table]:
        return list(self._samples)

    def counters(self) -> list[Table]:
        return list(self._counters)

    def marks(self, since_ns: int) -> ProcessMarks:
        """Facts, marks and events that ended after `since_ns`."""
        recent = self._recent.take(np.flatnonzero(self._recent.end_ns >= since_ns))
        known = self._marks.marks
        marks = [row for row in known.marks if ended_ns(row) >= since_ns]
        return ProcessMarks(
            self.pid, known.facts, known.versions, marks, [], recent, known.groups, known.job_role
        )

    @property
    def ended(self) -> bool:
        return self.log is not None and self.log.footer is not None

    @property
    def is_past(self) -> bool:
        """It has ended, and nothing of it is kept any more."""
        return (
            self.log is not None
            and self.log.footer is not None
            and self.log.footer.end_ns < self._oldest_ns()
        )

    def forget(self) -> None:
        """Drop what refers to frames and stacks that are gone."""
        self._samples.clear()

    def close(self) -> None:
        for file in (self._follower, self._events, self._marks):
            file.close()

    def _oldest_ns(self) -> int:
        return time.monotonic_ns() - self._keep_ns

    def _take(self, log: RawLog, names: Names) -> None:
        self._read_modules()
        named = with_modules(only_used(log), self._module_names)
        part = assemble_process(0, 0, named, names.addresses, names.frames, names.stacks)
        self.log, self.part = named, part
        for loss in zip(*(part.losses.columns[c].tolist() for c in ("cause", "unit", "count")), strict=True):
            cause, unit, count = loss
            self.losses[cause, unit] = self.losses.get((cause, unit), 0) + count
        if len(self._roster) > MOST_THREADS:
            self._roster = ThreadRoster()
            self._samples.clear()
        numbers = self._roster.take(part.threads)
        self._samples.append(_with_threads(part.samples, numbers))
        self._counters.append(part.counters)
        for kept in (self._samples, self._counters):
            while kept and int(kept[0].array("time_ns").max(initial=0)) < self._oldest_ns():
                kept.popleft()

    def threads(self) -> Table:
        return self._roster.table()

    def _read_modules(self) -> None:
        path = self._raw / rawfolder.MODULES.name(self.pid)
        with contextlib.suppress(OSError):
            size = path.stat().st_blocks
            if size != self._modules_size or not len(self._module_names.pointer):
                self._modules_size = size
                self._module_names = raw_modules(module_names(path))


def _with_threads(samples: Table, numbers: Array) -> Table:
    """`samples` with the roster's numbers of threads and owners."""
    lookup = np.append(numbers, np.int32(-1))  # the last one: of none
    columns = {name: lookup[np.maximum(samples.array(name), -1)] for name in ("thread", "owner")}
    return samples.with_columns(**columns)
