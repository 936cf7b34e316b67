"""What the observers of one process share: options, the logs of marks and events, thread ids, life and death.

One Session per process. After a fork the child gets a fresh log under its own pid and
nothing of the parent's pending state; at exit the log is closed by `atexit`, and a
process that dies earlier leaves a log that readers accept as it is.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from sonde import rawfolder
from sonde.record.inside import ranks
from sonde.record.inside.events import EventLog
from sonde.record.inside.log import MappedLog
from sonde.redact import hide_command

now_ns = time.monotonic_ns


class Session:
    """Where marks go. Lines of raw/PID.marks.jsonl: kind, name, number, start_ns, end_ns, tid, more."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.raw = os.path.join(options["folder"], rawfolder.FOLDER)
        self.alone: bool = options.get("alone", False)  # no `sonde run` around us
        self.cpu_start_s = time.process_time()
        # Lines made where writing is not allowed (garbage collection); written with the next mark.
        self.waiting: list[str] = []
        self.on_exit: list[Callable[[], None]] = []  # run first to last
        self.on_move: list[Callable[[], None]] = []  # another log is in use from now on
        self.on_fork: list[Callable[[], None]] = []  # in the child, before anything else is observed
        self._local = threading.local()
        self._open()
        self.describe(forked=False)
        self.late: bool = options.get(
            "late", False
        )  # it came into a program that already ran, and will leave it
        self.on_leave: list[Callable[[], None]] = []  # take away what is neither an attribute nor a hook
        atexit.register(self.finish)
        _sessions.append(self)
        _watch_forks()

    def tid(self) -> int:
        """The operating system's id of this thread."""
        try:
            found: int = self._local.tid
        except AttributeError:
            found = self._local.tid = threading.get_native_id()
        return found

    def mark(
        self, kind: str, name: str, start_ns: int, end_ns: int, number: int = -1, extra: str = ""
    ) -> None:
        """Append a mark. `extra` is further JSON members with a leading comma, already encoded."""
        if self.waiting:
            self.write_waiting()
        self.log.write(
            f'{{"kind":"{kind}","name":{quote(name)},"number":{number},"start_ns":{start_ns},'
            f'"end_ns":{end_ns},"tid":{self.tid()}{extra}}}'
        )

    def write_waiting(self) -> None:
        """Write what was noted where writing was not allowed."""
        if not self.waiting:
            return
        lines, self.waiting = self.waiting, []
        for line in lines:
            self.log.write(line)

    def lose(self, cause: str, count: int, unit: str, detail: str) -> None:
        """Say that something is missing; ends up in `losses`."""
        members = {"kind": "loss", "cause": cause, "count": count, "unit": unit, "detail": detail}
        self.log.write(json.dumps(members))

    def describe(self, forked: bool, **more: Any) -> None:
        """Who this process is."""
        self.log.write(
            json.dumps(
                {
                    "kind": "process",
                    "pid": os.getpid(),
                    "parent": os.getppid(),
                    **ranks.told_by(os.environ),
                    "host": os.uname().nodename,
                    "forked": forked,
                    "command": hide_command(sys.orig_argv),
                    "python": ".".join(map(str, sys.version_info[:3])),
                    "time_ns": now_ns(),
                    "epoch_offset_ns": time.time_ns() - now_ns(),
                    **more,
                }
            )
        )

    def finish(self) -> None:
        """End of the process: let every observer close what it has open, then the log."""
        for action in self.on_exit:
            try:
                action()
            except Exception as error:
                self.lose("observer_failed", 1, "events", f"at exit: {type(error).__name__}: {error}")
        self.write_waiting()
        lost = self.log.lost + self.events.lost
        if lost:
            self.lose("marks_not_written", lost, "events", "no room for the logs of marks and events")
        self.log.close()

    def end(self) -> None:
        """Of a guest that leaves: everything is written, and nothing of ours is called any more."""
        atexit.unregister(self.finish)
        if self in _sessions:
            _sessions.remove(self)
        for action in self.on_leave:
            action()
        self.finish()
        self.events.close()

    def move(self, folder: str) -> None:
        """Write to another recording from now on."""
        self.log.close()
        self.events.close()
        self.raw = os.path.join(folder, rawfolder.FOLDER)
        self._open()
        self.describe(forked=False)
        for action in self.on_move:
            action()

    def _open(self) -> None:
        os.makedirs(self.raw, 0o700, exist_ok=True)
        # A pid may come twice in a long job, and exec keeps it: never write over an older log.
        number, pid = 0, os.getpid()
        while True:
            path = rawfolder.MARKS.path(self.raw, pid, number)
            if not os.path.exists(path):
                break
            number += 1
        part_bytes: int = (
            self.options.get("ring_bytes", 0) // 8 // (rawfolder.RING_PARTS + 1)
        )  # kEventShareOf8
        self.log = MappedLog(path, part_bytes)
        self.events = EventLog(rawfolder.EVENTS.path(self.raw, pid, number), part_bytes)
        self.events.at_new_block = self.write_waiting

    def _after_fork(self) -> None:
        if self.late:  # the agent is not in the child, and nobody would tell it when to leave
            _sessions.remove(self)
            for forget in (self.log.abandon, self.events.abandon):
                forget()
            for action in self.on_fork:
                action()
            return
        self.log.abandon()
        self.events.abandon()
        self.waiting = []
        self._local = threading.local()
        self.cpu_start_s = time.process_time()
        try:
            self._open()
            self.describe(forked=True)
        except OSError:
            return  # no log: writes are counted as lost, the child runs on
        for action in self.on_fork:
            action()


# What is called in a forked child cannot be taken back: one function for all sessions, which may be none.
_sessions: list[Session] = []
_watched: list[bool] = []


def _watch_forks() -> None:
    if not _watched:
        _watched.append(True)
        os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    for session in list(_sessions):
        session._after_fork()


_QUOTED: dict[str, str] = {}


def quote(text: str) -> str:
    """JSON of a name; names repeat, so the few distinct ones are kept."""
    found = _QUOTED.get(text)
    if found is None:
        if len(_QUOTED) > 4096:
            _QUOTED.clear()
        found = _QUOTED[text] = json.dumps(text)
    return found
