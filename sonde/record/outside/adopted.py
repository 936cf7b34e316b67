"""Processes that outlive their parent: daemons. `sonde run` adopts them, waits a little, and names those that stay.

Enters: nothing but the process table. Leaves: what adopted processes used, and which ones still run.
As their subreaper Sonde learns of every process of the job, also of those whose parent did not wait, and of
its CPU time. What a process sees of it: its parent's pid, for which the agent gives the pid that it
would see without Sonde (native/agent/process/parent.cpp); only a raw system call shows Sonde's.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
WAIT_S = 10.0  # for processes that still work after the program has ended
IDLE_S = 1.0  # one that does nothing for so long is a server: nobody waits for those
_LOOK_EVERY_S = 0.1
_SUBREAPERS = frozenset({"systemd", "tini", "docker-init", "catatonit", "conmon", "s6-svscan"})


@dataclass(frozen=True)
class Left:
    """A process of the job that still runs. `start_ticks` tells it from a later one with the same pid."""

    pid: int
    start_ticks: int
    program: str

    def is_running(self) -> bool:
        found = _stat(self.pid)
        return found is not None and found.start_ticks == self.start_ticks and found.state not in "ZX"


def used_ns(usage: resource.struct_rusage) -> int:
    """User and system time."""
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def adopt_orphans() -> bool:
    """From now on processes of ours whose parent ends become our children. False: this kernel cannot."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def foster_parent() -> int:
    """The pid that orphans of ours get as parent when we do not adopt them: the nearest subreaper, else init.

    By the names of those that are known; the system does not tell, and to find out by making an orphan would leave
    a zombie where init is a program that does not wait (a container without an init).
    """
    pid = os.getppid()
    while pid > 1 and (found := _stat(pid)) and found.name not in _SUBREAPERS:
        pid = found.parent
    return max(pid, 1)


def see_off(say: Callable[[str], None]) -> tuple[int, tuple[Left, ...]]:
    """CPU time of adopted processes that have ended, and those that still run after a fair wait."""
    cpu_ns, told = 0, False
    start = busy_until = time.monotonic()
    worked = -1
    try:
        while True:
            ended_ns, any_left = _reap()
            cpu_ns += ended_ns
            if not any_left:
                return cpu_ns, ()
            found = _descendants()
            now = time.monotonic()
            if (ticks := sum(one.cpu_ticks for one in found)) != worked:
                worked, busy_until = ticks, now + IDLE_S
            if now > min(busy_until, start + WAIT_S):
                return cpu_ns, _left(found)
            if now > start + IDLE_S and not told:
                told = True
                say(
                    f"the program has ended; waiting up to {WAIT_S:g} s for {_counted(len(found))} that it left"
                )
            time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        return cpu_ns, _left(_descendants())


def _counted(number: int) -> str:
    return f"{number} process" + ("" if number == 1 else "es")


def _reap() -> tuple[int, bool]:
    """CPU time of children that have ended; are there others?"""
    cpu_ns = 0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return cpu_ns, False
        if pid == 0:
            return cpu_ns, True
        cpu_ns += used_ns(usage)


@dataclass(frozen=True)
class _Stat:
    pid: int
    state: str
    parent: int
    cpu_ticks: int
    start_ticks: int
    name: str


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        return _Stat(pid, rest[0], int(rest[1]), int(rest[11]) + int(rest[12]), int(rest[19]), name)
    except (OSError, ValueError, IndexError):
        return None


def _descendants() -> list[_Stat]:
    """Living processes below this one."""
    everyone = [stat for entry in os.listdir("/proc") if entry.isdigit() and (stat := _stat(int(entry)))]
    children: dict[int, list[_Stat]] = {}
    for one in everyone:
        children.setdefault(one.parent, []).append(one)
    found: list[_Stat] = []
    look = [os.getpid()]
    while look:
        mine = children.get(look.pop(), [])
        look += [one.pid for one in mine]
        found += [one for one in mine if one.state not in "ZX"]
    return found


def _left(found: list[_Stat]) -> tuple[Left, ...]:
    return tuple(Left(one.pid, one.start_ticks, _program(one)) for one in found)


def _program(one: _Stat) -> str:
    try:
        return os.readlink(f"/proc/{one.pid}/exe")
    except OSError:
        return one.name
