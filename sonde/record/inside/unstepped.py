"""Programs without modules, optimizer or marks: after a while their loop is looked for, and a window opens in it.

Enters: that a framework is there. Leaves: a mark of kind "loop" (the line of the outer loop, the time of its turns in
`period_ns`) and one window of some turns, as `windows.py` writes it.

A thread waits, and looks now and then whether steps have come. If none have and the program has computed for a
while, it asks the interpreter to call us between two instructions of the main thread (`Py_AddPendingCall`), as a
signal's handler would be: never inside of an operator. From then on `sys.settrace` follows the frames on the stack,
and no others, until their loop is known (`loops.py`).
"""

from __future__ import annotations

import _thread
import ctypes
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

from sonde.record.inside import SONDE
from sonde.record.inside.loops import Loops
from sonde.record.inside.session import Session, now_ns
from sonde.record.inside.windows import LOOP, Windows

PAUSES_S = (0.25, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_TRIES = 3
TURNS, DENSE_LINES, TURNS_MOST_NS = 3, 2000, 400_000_000  # of a window; two turns where they have many lines
LEAST_CPU_S = 0.2  # of the process since the framework came: before that it is still getting ready
_BUSY = ("<frozen importlib", "torch/_dynamo/", "torch/_inductor/", "torch/autograd/", "torch/nn/")


class Unstepped:
    """Waits for a program to prove that it has no steps."""

    def __init__(self, windows: Windows, session: Session) -> None:
        self._windows, self._session = windows, session
        self._pid = os.getpid()
        self._cpu_s = time.process_time()
        self._over = False  # the loop was found, or is not looked for any more
        self._tries = 0
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._called)

    def start(self) -> None:
        if threading.current_thread() is threading.main_thread() and not _is_worker():
            _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            if self._over or self._windows.has_steps or os.getpid() != self._pid:
                return
            if time.process_time() - self._cpu_s >= LEAST_CPU_S:
                ctypes.pythonapi.Py_AddPendingCall(self._call, None)

    def _called(self, _: Any) -> int:
        """On the main thread, between two instructions."""
        try:
            if not self._over and not self._windows.has_steps and os.getpid() == self._pid:
                self._open()
        except Exception as error:  # the program goes on, without this window
            self._over = True
            self._session.lose("window_failed", 1, "windows", f"{type(error).__name__}: {error}")
        return 0

    def _open(self) -> None:
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            file = frame.f_code.co_filename
            if any(part in file for part in _BUSY):
                return  # not now
            if not file.startswith(SONDE):
                frames.append(frame)
            frame = frame.f_back
        if not frames or sys.gettrace() is not None:
            return
        self._tries += 1
        self._over = self._tries >= MOST_TRIES
        loops = Loops(frames[::-1], now_ns())

        def on_line(frame: FrameType, event: str, arg: Any) -> Any:
            if event != "line" or not loops.line(frame, frame.f_lineno, now_ns()):
                return on_line
            sys.settrace(None)
            for base in loops.frames:
                base.f_trace = None
            self._found(loops)
            return None

        for base in frames:
            base.f_trace = on_line
        sys.settrace(_no_other)

    def _found(self, loops: Loops) -> None:
        found = loops.outermost()
        if found is None or self._windows.has_steps:
            return
        self._over = True
        frame, line, period_ns, turns = found
        now = now_ns()
        extra = f',"period_ns":{period_ns},"turns":{turns}'
        self._session.mark("loop", frame.f_code.co_filename, now - turns * period_ns, now, line, extra)
        begun = lines = 0
        # Until a turn begins; a loop that ends meanwhile begins none.
        start_ns, most_ns = now_ns(), max(TURNS_MOST_NS, 2 * period_ns)

        def at_line(running: FrameType, number: int) -> None:
            nonlocal start_ns, most_ns, begun, lines
            lines += 1
            turned = running is frame and number == line
            if turned:
                if not begun:
                    start_ns, most_ns = now_ns(), TURNS_MOST_NS
                begun += 1
                self._windows.turned()
            enough = begun > (TURNS if lines < DENSE_LINES else TURNS - 1)
            if enough or now_ns() - start_ns > most_ns:
                self._windows.close_now(LOOP)

        self._windows.open_by_time(at_line)


def _no_other(frame: FrameType, event: str, arg: Any) -> Any:
    """Calls of other functions are not followed."""
    return None


def _is_worker() -> bool:
    """Whether another process of Python started this one to work for it."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None
