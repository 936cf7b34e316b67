"""What a thread waits for, in words: from its system call and the functions around it.

In: the call's number and arguments, the frames, the files of the process. Out: a Wait; `holder` is the thread that
holds what is waited for, where that can be known (a mutex of libc, the GIL).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from sonde.ingest.agent.gil import TAKES_GIL
from sonde.live.frames import Frame
from sonde.live.library import Reader, ThreadStacks

# x86-64. What is not listed is named by its number.
_SLEEPS = {35, 230}
_CHILDREN = {61, 247}
_ON_FILE = {
    0: "read", 1: "write", 19: "read", 20: "write", 17: "read", 18: "write", 45: "receive", 47: "receive",
    44: "send", 46: "send", 43: "accept", 288: "accept", 42: "connect", 40: "write", 72: "lock", 73: "lock",
    16: "ioctl", 74: "sync", 75: "sync",
}  # fmt: skip
_ON_MANY = {7: "poll", 271: "poll", 23: "select", 270: "select", 232: "epoll", 281: "epoll", 441: "epoll"}
_SIGNALS = {34: "a signal", 130: "a signal", 128: "a signal"}
_FUTEX, _NANOSLEEP = 202, 35
_VFORKS = {56: "clone", 58: "vfork", 435: "clone3"}
_OWNER_IN_MUTEX = 8  # of glibc's pthread_mutex_t: the lock word comes first, then a count, then the owner

_LIBC = re.compile(r"^(?:lib(?:c|pthread)[.-]|ld-)")
_MUTEX = re.compile(r"mutex_(?:lock|timedlock|cond_lock)|lll_lock_wait")
_BETWEEN = re.compile(r"^(?:PyCOND_\w+|PyMUTEX_\w+)$")


@dataclass(frozen=True)
class Wait:
    """`kind` is for scripts: gil, mutex, condition, semaphore, lock, file, poll, sleep, child, signal, other."""

    kind: str
    text: str
    holder: int | None = None  # thread id


def wait_of(stacks: ThreadStacks, frames: tuple[Frame, ...], reader: Reader, gil_holder: int | None) -> Wait:
    """What the thread waits for; it is in a system call."""
    number, first = stacks.system_call, stacks.argument[0]
    if number == _FUTEX:
        return _futex(first, frames, reader, gil_holder)
    if number in _ON_FILE:
        return Wait("file", f"{_ON_FILE[number]} on {_file(reader.pid, first)}")
    if number in _ON_MANY:
        count = stacks.argument[1]
        on = f" on {_file(reader.pid, first)}" if _ON_MANY[number] == "epoll" else f" on {count} files"
        return Wait("poll", _ON_MANY[number] + (on if number not in (23, 270) else ""))
    if number in _SLEEPS:
        return Wait("sleep", "sleep")
    if number in _CHILDREN:
        return Wait("child", "a child process")
    if number in _SIGNALS:
        return Wait("signal", _SIGNALS[number])
    if number in _VFORKS:
        return Wait("child", "a child that has not called exec yet (vfork)")
    if number == -1:
        return Wait("other", "the kernel (page fault or stop)")
    return Wait("other", f"system call {number}")


def _futex(address: int, frames: tuple[Frame, ...], reader: Reader, gil_holder: int | None) -> Wait:
    native = [f for f in frames if f.layer == "native"]
    waiting = []  # libc's functions, from the leaf
    above = None
    for frame in frames:
        if frame.layer == "native" and (_LIBC.match(frame.place) or _BETWEEN.match(frame.name)):
            waiting.append(frame.name)
        else:
            above = frame
            break
    if above is not None and above.layer == "native" and TAKES_GIL.match(above.name):
        return Wait("gil", "the GIL", gil_holder)
    if any(_MUTEX.search(name) for name in waiting):
        owner = reader.read_int32(address + _OWNER_IN_MUTEX)
        known = owner is not None and owner > 0 and os.path.exists(f"/proc/{reader.pid}/task/{owner}")
        return Wait("mutex", f"mutex {address:#x}", owner if known else None)
    if any(
        f.name.startswith(("PyThread_acquire_lock", "acquire_timed", "_PyMutex_Lock")) for f in native[:8]
    ):
        return Wait("lock", "a Python lock")
    if any("cond_" in name for name in waiting):
        return Wait("condition", "a condition variable")
    if any("sem_" in name for name in waiting):
        return Wait("semaphore", "a semaphore")
    return Wait("lock", f"futex {address:#x}")


def _file(pid: int, number: int) -> str:
    try:
        return f"{os.readlink(f'/proc/{pid}/fd/{number}')} (descriptor {number})"
    except OSError:
        return f"descriptor {number}"
