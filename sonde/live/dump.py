"""All threads' stacks of a process, once, from outside: nothing is loaded into it.

In: a process id. Out: a ProcessDump. A thread that waits is read as it is; one that runs is stopped by ptrace while
its stack is read (`stop_ms`), and goes on.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from sonde.live.frames import Frame, Namer
from sonde.live.library import END_ROOT, How, Reader, ThreadStacks
from sonde.live.refusals import refusal
from sonde.live.waits import Wait, wait_of
from sonde.symbols.resolver import Resolver


@dataclass(frozen=True)
class ThreadDump:
    tid: int
    name: str
    state: str  # "running", "waiting", "stopped"
    wait: Wait | None
    holds_gil: bool
    frames: tuple[Frame, ...]  # leaf first
    notes: tuple[str, ...]  # what is missing or uncertain
    stop_ms: float  # how long it was held; 0: it was not


@dataclass(frozen=True)
class ProcessDump:
    pid: int
    command: str
    python: str | None  # "3.11"; None: there is no interpreter
    notes: tuple[str, ...]
    threads: tuple[ThreadDump, ...]


def dump(pid: int, resolver: Resolver) -> ProcessDump:
    """Read every thread of the process. Raises with reason and remedy when it may not be read."""
    reader = Reader(pid)
    try:
        if reader.error:
            raise refusal(pid, reader.error)
        return _dump(reader, resolver)
    finally:
        reader.close()


def _dump(reader: Reader, resolver: Resolver) -> ProcessDump:
    pid = reader.pid
    reader.find_python_threads()
    namer = Namer(reader, resolver)
    stacks = ThreadStacks()
    read: list[tuple[ThreadStacks, tuple[Frame, ...]]] = []
    for tid in _tasks(pid):
        reader.thread(tid, stacks)
        if stacks.how != How.GONE:
            read.append((_head(stacks), namer.frames(stacks)))
    holder = next((head.tid for head, _ in read if head.holds_gil), None)
    python = f"3.{reader.python_minor}" if reader.python_minor else None
    notes = (reader.python_refusal,) if reader.python_refusal else ()
    threads = tuple(_thread(head, frames, reader, holder) for head, frames in read)
    return ProcessDump(pid, _command(pid), python, notes, threads)


def _head(stacks: ThreadStacks) -> ThreadStacks:
    """A copy without what the frames were made from."""
    head = ThreadStacks()
    for field in (
        "tid",
        "how",
        "error",
        "native_end",
        "system_call",
        "stop_ns",
        "python_failed",
        "holds_gil",
        "moved",
    ):
        setattr(head, field, getattr(stacks, field))
    head.argument[:] = stacks.argument[:]
    head.native_count = stacks.native_count
    return head


def _thread(head: ThreadStacks, frames: tuple[Frame, ...], reader: Reader, holder: int | None) -> ThreadDump:
    letter = _state(reader.pid, head.tid)
    state = "stopped" if letter in "Tt" else "waiting" if head.how == How.WAITING else "running"
    wait = wait_of(head, frames, reader, holder) if state == "waiting" else None
    notes = []
    if head.how == How.NOT_STOPPED:
        reason = {errno.EPERM: "another program traces it", errno.ETIMEDOUT: "it did not stop in time"}
        notes.append(f"no native stack: {reason.get(head.error, os.strerror(head.error))}")
    elif head.native_end != END_ROOT:
        notes.append("the native stack could not be followed to its root")
    if head.python_failed:
        notes.append("the Python stack could not be read whole")
    if head.moved:
        notes.append("it went on while it was read: the stack may mix two moments")
    name = _text(Path(f"/proc/{reader.pid}/task/{head.tid}/comm")).strip()
    return ThreadDump(
        head.tid, name, state, wait, bool(head.holds_gil), frames, tuple(notes), round(head.stop_ns / 1e6, 3)
    )


def _tasks(pid: int) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError as error:
        raise refusal(pid, error.errno or errno.ESRCH) from error


def _state(pid: int, tid: int) -> str:
    after = _text(Path(f"/proc/{pid}/task/{tid}/stat")).rpartition(") ")[2]
    return after[:1] or "?"


def _command(pid: int) -> str:
    words = _text(Path(f"/proc/{pid}/cmdline")).split("\0")
    return " ".join(words).strip() or _text(Path(f"/proc/{pid}/comm")).strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
