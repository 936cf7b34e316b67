"""Put the observers in place in this process, once, right after `import torch`."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any

from sonde.record.observe import data_loading, garbage, modules, own_profiler, settings, training
from sonde.record.observe.session import Session
from sonde.record.observe.steps import StepTracker
from sonde.record.observe.windows import Windows

OPTIONS_VARIABLE = "SONDE_OBSERVE"


@dataclass
class ThreadState:
    """What is known of one thread of the program."""

    tid: int
    steps: StepTracker
    burst: modules.Burst
    said_ns: int = -1  # when the program last called sonde.step()


class Observation:
    """The observers' common ground: the session, the windows, and each thread's steps."""

    def __init__(self, session: Session) -> None:
        self.torch: Any = None  # until the program imports it
        self.session = session
        self.threads: list[ThreadState] = []
        # Thread idents are reused after a thread's death, thread-locals are not.
        self._local = threading.local()
        self._steps_so_far = 0
        self.windows = Windows(session)
        session.on_exit.append(self._finish)
        session.on_fork.append(self._forked)

    def meet(self, torch: Any) -> None:
        """The program has torch now: install what observes it."""
        self.torch = torch
        version = {"kind": "version", "name": "torch", "value": str(torch.__version__)}
        self.session.log.write(json.dumps(version))
        observers = (
            training.observe,
            data_loading.observe,
            modules.observe,
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
            state: ThreadState = self._local.state
            return state
        except AttributeError:
            return self._new_thread()

    @property
    def steps_so_far(self) -> int:
        return self._steps_so_far

    def _new_thread(self) -> ThreadState:
        tid = self.session.tid()

        def emit(number: int, start_ns: int, end_ns: int, backwards: int) -> None:
            self.session.log.write_bytes(
                b'{"kind":"step","name":"train","number":%d,"start_ns":%d,"end_ns":%d,"tid":%d,"backwards":%d}\n'
                % (number, start_ns, end_ns, tid, backwards)
            )

        tracker = StepTracker(emit, self._take_number)
        state = ThreadState(tid, tracker, modules.Burst())
        tracker.at_boundary = lambda end_ns: self.windows.step_ended(state, end_ns)
        self.threads.append(state)
        self._local.state = state
        return state

    def _take_number(self) -> int:
        number = self._steps_so_far
        self._steps_so_far += 1
        return number

    def _finish(self) -> None:
        for state in self.threads:
            state.steps.at_boundary = lambda end_ns: None
            state.steps.finish()
        self.windows.finish()

    def _forked(self) -> None:
        self.threads = []
        self._local = threading.local()
        self._steps_so_far = 0
        self.windows.forked()


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
