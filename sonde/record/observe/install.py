"""Put the observers in place in this process, once, right after `import torch`."""

from __future__ import annotations

import itertools
import json
import os
import threading
from functools import partial
from typing import Any

from sonde.record.observe import (
    compiled_calls,
    data_loading,
    garbage,
    modules,
    own_profiler,
    settings,
    training,
)
from sonde.record.observe.events import TRAIN_STEP, Record
from sonde.record.observe.session import Session
from sonde.record.observe.steps import Pace, StepTracker
from sonde.record.observe.windows import Windows

OPTIONS_VARIABLE = "SONDE_OBSERVE"


def _nowhere(*event: int) -> None:
    """For events that began in the parent: they are the parent's to note."""


class ThreadState:
    """What is known of one thread of the program. Its thread alone writes to it."""

    __slots__ = (
        "burst",
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
        self.burst = modules.Burst()
        self.said_ns = -1  # when the program last called sonde.step()
        self.in_backward = self.in_compiled = False
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
        self.torch: Any = None  # until the program imports it
        self.session = session
        self.threads: list[ThreadState] = []
        # Thread idents are reused after a thread's death, thread-locals are not.
        self.local = threading.local()
        self._numbers = itertools.count()
        self.windows = Windows(session)
        session.on_exit.append(self._finish)
        session.on_fork.append(self._forked)
        session.on_move.append(self._moved)

    def meet(self, torch: Any) -> None:
        """The program has torch now: install what observes it."""
        self.torch = torch
        version = {"kind": "version", "name": "torch", "value": str(torch.__version__)}
        self.session.log.write(json.dumps(version))
        observers = (
            training.observe,
            data_loading.observe,
            modules.observe,
            compiled_calls.observe,
            own_profiler.observe,
            settings.observe,
        )
        for install in observers:
            try:
                install(torch, self)
            except Exception as error:  # one observer less; the others and the program go on
                detail = f"{install.__module__}: {type(error).__name__}: {error}"
                self.session.lose("observer_failed", 1, "events", detail)
        self.windows.ready(torch)

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


def observe(torch: Any, options: dict[str, Any] | None = None) -> Observation | None:
    """Install everything; None when this process is not to be observed."""
    global current
    if current is not None:
        if current.torch is None and torch is not None:
            current.meet(torch)
        return current
    if options is None:
        text = os.environ.get(OPTIONS_VARIABLE)
        if not text:
            return None
        options = json.loads(text)
    seen = Observation(Session(options))
    current = seen
    garbage.observe(seen)
    if torch is not None:
        seen.meet(torch)
    return seen
