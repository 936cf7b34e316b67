"""Puts the agent into a process, through libsonde_attach.so, in a process of its own.

In: a process id, the agent's library as that process sees it, lines NAME=VALUE for the agent. Out: how long threads
were stopped. Work is done in a forked child (`apart`): when it ends, however it ends, the kernel lets go of all
threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sonde import native
from sonde.errors import EnvironmentLacks, InputError, SondeError
from sonde.record.outside.apart import Failed, apart

ROOM = "glibc.rtld.optional_static_tls=2048"  # bytes; without it 512
LIMIT_MS = 20_000  # for the agent to be loaded: the program may hold the loader's lock for a while


class Outcome(IntEnum):
    """As in native/attach/api.cpp."""

    ATTACHED = 0
    NO_LIBC = 1
    NOT_ALLOWED = 2
    NO_THREAD_STOPS = 3
    NO_MEMORY = 4
    NO_CLONE = 5
    NO_THREAD = 6
    NOT_LOADED = 7
    NO_ENTRY = 8
    TOOK_TOO_LONG = 9
    AGENT_REFUSES = 10
    GONE = 11
    UNKNOWN_LIBC = 12


class _Result(ctypes.Structure):
    _fields_ = (
        ("outcome", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("stop_ns", ctypes.c_uint64),
        ("whole_ns", ctypes.c_uint64),
        ("text", ctypes.c_char * 512),
    )


class _StackOrder(ctypes.Structure):
    _fields_ = (
        ("tid", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
        ("self", ctypes.c_uint64),
        ("thread_pointer", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Injected:
    """What it took. Times in ms."""

    stop_ms: float  # the longest that a thread of the program stood still
    whole_ms: float


def inject(pid: int, library: str, request: str, limit_ms: int = LIMIT_MS) -> Injected:
    """Load the agent and call it. Raises with the reason; the program then is as it was."""

    def work() -> list[Any]:
        _leave_interrupts_to_the_parent()
        result = _Result()
        native.attach().sonde_attach_inject(
            ctypes.c_int(pid),
            os.fsencode(library),
            request.encode("utf-8", "surrogateescape"),
            ctypes.c_int(limit_ms),
            ctypes.byref(result),
        )
        text = result.text.decode("utf-8", "replace")
        return [result.outcome, result.error, result.stop_ns / 1e6, result.whole_ns / 1e6, text]

    try:
        outcome, error, stop_ms, whole_ms, text = apart(work)
    except Failed as failed:
        raise EnvironmentLacks(f"process {pid} could not be attached to: {failed}") from None
    if outcome != Outcome.ATTACHED:
        raise _refusal(pid, Outcome(outcome), error, text)
    return Injected(stop_ms, whole_ms)


def set_stacks(pid: int, orders: str) -> tuple[str, float]:
    """What the agent ordered ("orders" of native/agent/attach/visit.h): the answer to it, longest stop in ms."""
    head, *lines = orders.splitlines()
    if not lines:
        return "", 0.0

    def work() -> list[Any]:
        _leave_interrupts_to_the_parent()
        scratch, self_at, stacks_at = map(int, head.split())
        wanted = (_StackOrder * len(lines))()
        for order, line in zip(wanted, lines, strict=True):
            order.tid, order.low, order.high, order.self = map(int, line.split())
        call = native.attach().sonde_attach_stacks
        call.restype = ctypes.c_uint64
        stop_ns = call(
            ctypes.c_int(pid),
            ctypes.c_uint64(scratch),
            ctypes.c_int64(self_at),
            ctypes.c_int64(stacks_at),
            wanted,
            ctypes.c_int(len(lines)),
        )
        return ["".join(f"{o.tid} {o.error} {o.thread_pointer}\n" for o in wanted), stop_ns / 1e6]

    try:
        answer, stop_ms = apart(work)
    except Failed:
        return "", 0.0  # threads are not sampled without; the program goes on
    return answer, stop_ms


def _leave_interrupts_to_the_parent() -> None:
    """A thread of the program may be stopped with changed registers: nothing may end us in between."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


def _refusal(pid: int, outcome: Outcome, error: int, text: str) -> SondeError:
    reason = os.strerror(error) if error else ""
    if outcome is Outcome.GONE:
        return InputError(f"process {pid} ended before Sonde could attach")
    if outcome is Outcome.AGENT_REFUSES:
        hint = {
            "the process is being recorded already": f"sonde window {pid} records some steps in detail now",
            "another attach is under way": "wait for it, or end it with Ctrl-C where it runs",
        }.get(text)
        return EnvironmentLacks(f"process {pid}: {text}", hint)
    said = {
        Outcome.NO_LIBC: f"its C library has no {text}: not glibc, or a program without threads",
        Outcome.NOT_ALLOWED: f"the kernel forbids it ({reason})",
        Outcome.NO_THREAD_STOPS: "none of its threads stopped: all are inside the kernel",
        Outcome.NO_MEMORY: f"it cannot map memory ({reason})",
        Outcome.NO_CLONE: f"it cannot have another thread ({reason})",
        Outcome.NO_THREAD: f"it cannot have another thread ({reason})",
        Outcome.NOT_LOADED: f"the agent could not be loaded: {text}",
        Outcome.NO_ENTRY: "another version of Sonde's agent is in it already",
        Outcome.TOOK_TOO_LONG: "its loader is busy: the agent was not loaded in time, and will not be",
        Outcome.UNKNOWN_LIBC: "its C library keeps threads in a way that Sonde does not know",
    }[outcome]
    hints = {
        Outcome.NOT_ALLOWED: f"sonde check --pid {pid} says why",
        Outcome.NO_ENTRY: "restart the program, or use that version of Sonde",
        Outcome.TOOK_TOO_LONG: f"sonde dump {pid} shows what it does",
        Outcome.NO_THREAD_STOPS: f"sonde dump {pid} shows where",
    }
    hint = hints.get(outcome)
    if outcome is Outcome.NOT_LOADED and "static TLS block" in text:
        said = "its libraries have used up the room for thread-local variables that libraries get which come later"
        hint = f"start it with GLIBC_TUNABLES={ROOM} (glibc 2.33 or newer), or with sonde run --dormant"
    return EnvironmentLacks(f"process {pid} cannot be attached to: {said}", hint)
