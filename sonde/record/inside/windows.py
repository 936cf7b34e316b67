"""Profiling windows: the framework's own profiler and the line trace around a few steps.

The observers report step ends and module calls; this decides (with `Budget`, or as
`--window` says) and acts at the next safe point, which is the entry of the next observed
call: outside of any operator and of the optimizer's own record.

raw/PID.window-N.json is the trace; raw/PID.windows.jsonl has one line per window:
    {"window": N, "start_ns", "end_ns", "first_step", "steps", "tid", "clock": [[before, after]…],
     "lines": true, "control_s", "reason", "taken_share"}
A window of which other programs took much time (`taken_share`) is taken again, as the budget allows.
A window that is open when the process dies leaves nothing but the mark that it was open.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sonde import rawfolder
from sonde.record.inside.budget import Budget
from sonde.record.inside.heap import Heap
from sonde.record.inside.on_request import WindowsOnRequest
from sonde.record.inside.primitives import PrimitiveCapture
from sonde.record.inside.readings import Readings
from sonde.record.inside.session import Session, now_ns
from sonde.record.inside.turns import Turns
from sonde.record.inside.where import program_frame, run_delay_ns, taken_share

if TYPE_CHECKING:
    from sonde.record.inside.deep import Deep, Lines, Trace
    from sonde.record.inside.observation import ThreadState

# With --window all, a trace is cut at a step's end when it has become long.
ALL_STEPS, ALL_NS = 50, 10_000_000_000
BYTES_PER_EVENT, SECONDS_PER_EVENT = 300, 1.5e-6
SECONDS_PER_LINE_EVENT = 0.5e-6
NEVER = 1 << 62
LOOP = "loop"  # why a window ended that followed a loop without steps
MOST_LINES = 400  # whose values a window tells
MUCH_TAKEN = 0.20  # of a window, its thread ready but off the CPU: calls are longer than they are


class Windows(WindowsOnRequest):
    """The windows of one process; they follow the first thread that makes steps."""

    def __init__(self, session: Session) -> None:
        self._deep: Deep | None = None  # until the program imports a framework that has one
        self._session = session
        options = session.options
        self._mode: str = options.get("window", "auto")
        self._first: int = options.get("first", -1)
        self._last: int = options.get("last", -1)
        self._with_lines: bool = options.get("lines", True)
        self._budget = Budget(options.get("budget", 0.02))
        self._heap = Heap()
        self._readings = Readings()
        self._turns = Turns.of(session)
        self._thread = 0  # tid of the thread that windows follow
        self._ended_s = -1.0  # CPU time of the process when the last step ended; -1: not known
        self._steps = 0  # steps that ended on that thread
        self._wish = 0  # steps to record from the next safe point on; -1: until told
        self._closing = False
        self._held = False  # the program itself says when the open window ends
        self._open: Trace | None = None
        self._lines: Lines | None = None
        self._primitives = PrimitiveCapture(session)
        self._open_steps = 0
        self._wanted_steps = 0
        self._control_s = 0.0
        self._delay_ns = -1  # of the thread in the run queue when the window opened; -1: not told
        self._opened_s = 0.0  # CPU time of the process when the open window's steps began
        self._inside_s = 0.0  # and what they have taken since
        self._count = 0
        self._trained = False
        self._anchor = 0  # root module whose calls count as steps when nothing trains
        self._aside = False
        self._asked = False  # for the open window, or the one to come: by `sonde window`
        self._leaving = False  # no further windows
        self.on_closed: Callable[[], object] = lambda: None
        # A guest pays out of what the program has used since it came.
        self._earlier_s = session.cpu_start_s if options.get("late") else 0.0
        self._listed = False  # the open window knows the optimizer's tensors
        # What hooks look at on every call:
        self.pending = False  # a safe point has something to do
        self.is_open = False
        self.is_busy = False  # a window is open, or being opened or saved
        self.follows_modules = self._mode != "none" or self._turns is not None  # module calls may be steps
        self._skip = 0  # steps that need no look at all

    # What observers report ------------------------------------------------------

    def ready(self, deep: Deep) -> None:
        """The program has a framework that windows can record, and all its observers are in place."""
        self._deep = deep
        self._primitives = PrimitiveCapture(self._session, deep.set_verbose)
        if self._mode == "all" or (self._mode == "steps" and self._first == 0):
            self._wish, self.pending = -1, True
        elif self._mode == "auto" and self._turns is None and not self._session.late:
            from sonde.record.inside.unstepped import (
                Unstepped,
            )  # a millisecond, for programs with a framework

            Unstepped(self, self._session).start()

    def root_named(self, modules: int) -> None:
        """A root module with so many modules was called for the first time."""
        self._budget.modules = max(self._budget.modules, modules)

    def step_ended(self, thread: ThreadState, end_ns: int) -> None:
        """A training step ended on `thread`."""
        if thread.said_ns >= 0:
            return  # the program says itself what a step is
        if self._skip > 0 and thread.tid == self._thread:
            self.skipped(thread, 1)
            return
        if not self._trained:
            self._trained, self.follows_modules = True, False
            self._steps, self._ended_s = 0, -1.0  # module calls before were no steps
        self._boundary(thread, end_ns)

    def unwatched(self, thread: ThreadState) -> int:
        """So many steps of this thread, from now on, need not be reported here."""
        return self._skip if thread.tid == self._thread else NEVER if self._thread else 0

    def skipped(self, thread: ThreadState, steps: int) -> None:
        """Steps of the followed thread that are not reported, as `unwatched` allowed."""
        if thread.tid != self._thread:
            return
        if self._skip < NEVER:
            self._skip -= steps
        self._steps += steps

    def module_called(self, thread: ThreadState, pointer: int, end_ns: int) -> None:
        """An outermost module call ended on a thread that does not train: a step, as long as none does."""
        if not self._anchor:
            self._anchor = pointer
        if pointer == self._anchor:
            if self._skip > 0 and thread.tid == self._thread:
                self.skipped(thread, 1)
                return
            self._boundary(thread, end_ns)

    def wants_tensors(self, thread: ThreadState) -> bool:
        """True once per window: now is the time to list the optimizer's tensors."""
        if self._open is None or self._listed or thread.tid != self._thread:
            return False
        self._listed = True
        return True

    def said_step(self, thread: ThreadState, end_ns: int) -> None:
        """The program called `sonde.step()`."""
        if not self._trained:
            self._trained, self._steps, self._ended_s = True, 0, -1.0
            self.follows_modules = False
        self._boundary(thread, end_ns)

    def safe_point(self, thread: ThreadState) -> None:
        """Between operators: open or close what was decided."""
        if self.pending and (not self._thread or thread.tid == self._thread):
            self._thread = self._thread or thread.tid
            self._act()

    def step_aside(self, why: str) -> None:
        """The program uses torch.profiler itself; there can be only one."""
        if not self._aside:
            self._aside = True
            self._session.lose("own_profiler", 1, "windows", why)
        if self._open is not None:
            self._end("own_profiler")
        self._wish, self.pending = 0, False

    def finish(self) -> None:
        """The process ends: keep what an open window has."""
        self.pending = False
        if self._open is not None:
            self._end("program ended")

    def forked(self) -> None:
        """In a forked child: a profiler that ran before the fork must not be touched here."""
        self._leaving, self.is_busy = self._session.late, False
        self._primitives.forked()
        self._heap.divert(False)
        self._turns = None  # those are the launched process's own
        if self._count or self._open is not None:
            self._aside = True
        if self._lines is not None:
            self._lines.stop()
        self._open = self._lines = None
        self._held = False
        self.is_open, self.follows_modules, self._skip = False, self._mode != "none", 0
        self._thread, self._steps, self._ended_s = 0, 0, -1.0
        self.pending, self._wish, self._trained, self._anchor = False, 0, False, 0
        self._budget = Budget(self._session.options.get("budget", 0.02))
        self._readings.clear()

    # Decisions --------------------------------------------------------------

    def _boundary(self, thread: ThreadState, end_ns: int) -> None:
        if not self._thread:
            self._thread = thread.tid
        if thread.tid != self._thread:
            return
        if self._turns is not None:
            self.pending = self._turns.step_ended()
            return
        if self._leaving or ((self._aside or self._mode == "none") and not self._asked):
            self._skip = 0 if self._open is not None else NEVER
            if self._open is None:
                return
        self._steps += 1
        if self._open is not None and self.follows_loop:
            self._closing = self.pending = True  # the program has steps after all
        elif self._open is not None:
            self._open_steps += 1
            self._inside_s = time.process_time() - self._opened_s
            self._closing = self._is_long_enough(end_ns)
            self.pending = True
        else:
            # CPU time, as the budget is: what a step waits, or a whole machine that stands still, costs nothing.
            ended_s = time.process_time()
            if self._ended_s >= 0:
                self._budget.step(ended_s - self._ended_s)
            self._ended_s = ended_s
            if not self._count:
                self._readings.note(end_ns)
            self._wish = self._wish if self._asked else self._decide()
            self.pending = self._wish != 0
            if self._mode == "auto":
                self._skip = self._budget.steps_to_skip()
                if self._skip:
                    self._ended_s = -1.0  # the next duration begins at the next look
                    self._readings.clear()

    def _decide(self) -> int:
        if self._mode == "auto":
            return self._budget.steps_to_record(lambda: time.process_time() - self._earlier_s)
        if self._mode == "steps" and self._steps == self._first:
            return self._last - self._first
        return -1 if self._mode == "all" else 0

    def _is_long_enough(self, end_ns: int) -> bool:
        assert self._open is not None
        if self._held:
            return False
        if self._asked:
            return self._open_steps >= self._wanted_steps
        if self._mode == "all":
            return self._open_steps >= ALL_STEPS or end_ns - self._open.start_ns > ALL_NS
        if self._mode == "steps":
            return self._steps >= self._last
        return self._open_steps >= self._wanted_steps

    # Actions ----------------------------------------------------------------

    def _act(self) -> None:
        self.pending = False
        if self._turns is not None:
            if self._deep is not None and not self._deep.uses_device():
                self._turns.take()
            return
        if self._open is not None and not self._closing:
            self._open.tick()  # once a step: torch's clock may run at another pace than ours
            if self._lines is not None:
                self._lines.step()
        elif self._open is not None:
            if self._lines is not None:
                self._lines.step()
            self._end(LOOP if self.follows_loop else "complete")
            self._closing = False
            if self._mode == "all":
                self._wish = -1
        if self._wish and self._open is None and not self._aside and self._deep is not None:
            self._begin()

    def _begin(self) -> None:
        self.is_busy = True
        try:
            with self._heap.apart():
                self._start()
        finally:
            self.is_busy = self._open is not None
        self._heap.divert(self._open is not None)

    def _end(self, reason: str) -> None:
        self.is_busy = True
        self._heap.divert(False)
        try:
            with self._heap.apart():
                self._stop(reason)
        finally:
            self.is_busy = False
            self.on_closed()

    def _start(self) -> None:
        assert self._deep is not None
        started_s = time.process_time()  # of all threads: the profiler has some of its own
        window = self._deep.trace()
        self._wanted_steps, self._wish = self._wish, 0
        try:
            window.start()
        except Exception as error:
            self._aside = True
            self._session.lose("window_failed", 1, "windows", f"{type(error).__name__}: {error}")
            return
        self._open, self._open_steps, self._listed = window, 0, False
        self.is_open = True
        self._session.mark("window", "open", window.start_ns, window.start_ns, self._count)
        if self._with_lines:
            lines = self._deep.lines()
            if lines.start(program_frame()):
                self._lines = lines
        self._primitives.start(self._count)
        self._delay_ns = run_delay_ns(self._thread)
        self._opened_s, self._inside_s = time.process_time(), 0.0
        self._control_s = self._opened_s - started_s

    def _stop(self, reason: str) -> None:
        window, lines = self._open, self._lines
        assert window is not None
        self._open = self._lines = None
        self.is_open = self._held = self._asked = False
        self._ended_s = -1.0  # the time to save is no part of a step
        if lines is not None:
            lines.stop()
        started_s = time.process_time()
        taken = taken_share(self._thread, self._delay_ns, window.start_ns)
        self._primitives.stop()
        raw, pid = self._session.raw, os.getpid()
        trace = rawfolder.WINDOW_TRACE.path(raw, pid, self._count)
        try:
            window.stop()
            window.save(trace)
            if lines is not None:
                lines.save(
                    rawfolder.WINDOW_LINES.path(raw, pid, self._count),
                    rawfolder.WINDOW_CODE.path(raw, pid, self._count),
                )
        except Exception as error:
            self._aside = True
            self._session.lose("window_failed", 1, "windows", f"{type(error).__name__}: {error}")
            return
        control_s = self._control_s + time.process_time() - started_s
        extra_s = os.path.getsize(trace) / BYTES_PER_EVENT * SECONDS_PER_EVENT
        if lines is not None:
            extra_s += lines.count * SECONDS_PER_LINE_EVENT
        extra_s = self._budget.slowdown_s(self._open_steps, self._inside_s, extra_s)
        self._budget.window(self._open_steps, control_s, extra_s, again=taken > MUCH_TAKEN)
        line = {
            "window": self._count,
            "start_ns": window.start_ns,
            "end_ns": window.end_ns,
            "tid": self._thread,
            "steps": self._open_steps,
            "first_step": self._steps - self._open_steps,
            "clock": window.clock,
            "lines": lines is not None,
            "cost_s": round(control_s + extra_s, 6),
            "reason": reason,
            "taken_share": round(taken, 3),
            "saved_ns": now_ns(),
        }
        with open(rawfolder.WINDOWS.path(raw, pid), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        # What the window cost the program, for the recording's account of its own overhead.
        extra = f',"steps":{self._open_steps},"cost_ns":{round((control_s + extra_s) * 1e9)}'
        extra += f',"taken_share":{taken:.3f}' + self._readings.as_member()
        self._readings.clear()
        self._session.mark("window", reason, window.start_ns, window.end_ns, self._count, extra)
        for name, number, told in lines.rows()[:MOST_LINES] if lines is not None else ():
            extra = "," + json.dumps(told)[1:-1]
            self._session.mark("values", name, window.start_ns, window.end_ns, number, extra)
        self._count += 1
        if reason == LOOP:
            self._thread = 0  # which one makes steps, should they come, is not known
