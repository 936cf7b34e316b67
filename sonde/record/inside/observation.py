"""What all observers of this process share: the session, the windows, and each thread's steps.

One Observation per process, made when the first framework is imported or the program says something itself.
A framework (`sonde.record.frameworks`) then installs its observers by `meet`.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sonde.record.inside import garbage
from sonde.record.inside.events import TRAIN_STEP, Record
from sonde.record.inside.session import Session
from sonde.record.inside.steps import Burst, Pace, StepTracker
from sonde.record.inside.windows import Windows

OPTIONS_VARIABLE = "SONDE_OBSERVE"  # JSON: what to observe and where to write
WATCH_VARIABLE = "SONDE_WATCH"  # for bootstrap/sitecustomize.py: which imports to wait for


def _nowhere(*event: int) -> None:
    """For events that began in the parent: they are the parent's to note."""


class ThreadState:
    """What is known of one thread of the program. Its thread alone writes to it."""

    __slots__ = (
        "burst",
        "compiled",
        "in_backward",
        "in_compiled",
        "optimizers",
        "pace",
        "quiet",
        "record",
        "said_ns",
        "started_ns",
        "stepped",
        "steps",
        "tid",
    )

    def __init__(self, tid: int) -> None:
        self.tid = tid
        self.record: Record = _nowhere  # (code, start_ns, end_ns, a, b) → the log
        self.steps: StepTracker
        self.burst = Burst()
        self.said_ns = -1  # when the program last called sonde.step()
        self.in_backward = self.in_compiled = False
        self.compiled = False  # a compiled function was called: an optimizer may be inside one
        self.optimizers = 0  # optimizer steps under way, one inside the other
        self.started_ns = -1  # when the outermost of them began
        self.stepped = 0  # optimizer steps so far
        self.pace = Pace()
        self.quiet = 0  # so many steps, the one under way included, have no phases recorded

    def write_to(self, record: Record) -> None:
        """Events of this thread go to `record` from now on."""
        self.record = record
        self.steps.emit = partial(record, TRAIN_STEP)


class Observation:
    """The observers' common ground: the session, the windows, and each thread's steps."""

    def __init__(self, session: Session) -> None:
        self.met: set[str] = set()  # frameworks that the program has imported
        self.session = session
        self.threads: list[ThreadState] = []
        # Thread idents are reused after a thread's death, thread-locals are not.
        self.local = threading.local()
        self.inside: set[int] = (
            set()
        )  # idents of threads in a call whose inner module calls are no forward passes
        self._numbers = itertools.count()
        self.windows = Windows(session)
        session.on_exit.append(self._finish)
        session.on_fork.append(self._forked)
        session.on_move.append(self._moved)

    def meet(
        self, name: str, framework: Any, observers: Iterable[Callable[[Any, Observation], None]]
    ) -> None:
        """The program has this framework now: install what observes it, each with `(framework, self)`."""
        self.met.add(name)
        version = {"kind": "version", "name": name, "value": str(framework.__version__)}
        self.session.log.write(json.dumps(version))
        for install in observers:
            try:
                install(framework, self)
            except Exception as error:  # one observer less; the others and the program go on
                detail = f"{install.__module__}: {type(error).__name__}: {error}"
                self.session.lose("observer_failed", 1, "events", detail)

    def thread(self) -> ThreadState:
        """The state of the calling thread."""
        try:
            state: ThreadState = self.local.state
            return state
        except AttributeError:
            return self._new_thread()

    def _new_thread(self) -> ThreadState:
        tid = self.session.tid()
        state = ThreadState(tid)
        state.steps = StepTracker(_nowhere, self.next_number, partial(self.windows.step_ended, state))
        state.write_to(self.session.events.writer(tid))
        self.threads.append(state)
        self.local.state = state
        return state

    def next_number(self) -> int:
        """Number of the step that has just ended in this process."""
        return next(self._numbers)

    def _finish(self) -> None:
        for state in self.threads:
            state.steps.at_boundary = lambda end_ns: None
            state.steps.finish()
        self.windows.finish()

    def _forked(self) -> None:
        for state in self.threads:
            state.write_to(_nowhere)  # hooks under way in the child still hold the parent's blocks
        self.threads = []
        self.local.__dict__.clear()  # the one thread there is now
        self._numbers = itertools.count()
        self.windows.forked()

    def _moved(self) -> None:
        for state in self.threads:
            state.write_to(self.session.events.writer(state.tid))


current: Observation | None = None


def observe(options: dict[str, Any] | None = None) -> Observation | None:
    """The observation of this process, begun if need be; None when it is not to be observed."""
    global current
    if current is None:
        if options is None:
            text = os.environ.get(OPTIONS_VARIABLE)
            if not text:
                return None
            options = json.loads(text)
        current = Observation(Session(options))
        garbage.observe(current)
    return current
