"""Inside a window: which line of the program runs, and in which module, at every moment.

A trace function follows one thread. It leaves a flat list of integers, four per event
(time_ns, kind, a, b), from which the state at any operator's start is exact, also
for operators that no call event shows, such as `x + y`:
    LINE   a = code number, b = line     a line of a followed frame begins
    ENTER  a = code number, b = line     a followed frame is entered (or a generator resumed)
    LEAVE  0, 0                          … and left
    MODULE a = address of the nn.Module  its call begins
    MODULE_END 0, 0                      … and ends
Beside that, `values.py` sees what each line makes.
Frames of torch, the standard library and Sonde are not followed: the line that counts
is the one that called into them. A program that has its own trace function (a
debugger, coverage) keeps it, and the window goes without lines.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from sonde.record.frameworks.torch.inside.values import Values
from sonde.record.inside import SONDE
from sonde.record.inside.session import now_ns

LINE, ENTER, LEAVE, MODULE, MODULE_END = range(5)
IGNORED, MODULE_CALL = -1, -2


class LineTrace:
    """Follows the thread that calls `start` until `stop`."""

    def __init__(self, torch: Any) -> None:
        self.events = array("q")
        self.codes: list[CodeType] = []
        self._known: dict[CodeType, int] = {}
        self._call_code = torch.nn.Module._call_impl.__code__
        self._known[self._call_code] = MODULE_CALL
        import sysconfig  # a millisecond that only programs with windows pay

        standard = sysconfig.get_paths()
        self._ignored = (
            os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
            SONDE,
            "<",  # <frozen …>, <string>, code of exec
        )
        self._standard = (standard["stdlib"] + os.sep, standard["platstdlib"] + os.sep)
        self._packages = (standard["purelib"] + os.sep, standard["platlib"] + os.sep)
        self._followed: list[FrameType] = []
        self.values = Values(torch, self._is_users)
        self.at_line: Callable[[FrameType, int], None] | None = None
        self._under_way: list[tuple[FrameType, int]] = []  # followed frames and the line that each is at
        self._modules = 0  # module calls under way, one inside the other
        self.active = False

    @property
    def count(self) -> int:
        """Events so far."""
        return len(self.events) // 4

    def start(self, frame: FrameType | None) -> bool:
        """Begin with the stack that `frame` (the program's innermost) has; False when refused."""
        if sys.gettrace() is not None:
            return False
        # Outermost first, so that the events read as if the frames were entered just now.
        stack = []
        while frame is not None:
            stack.append(frame)
            frame = frame.f_back
        for outer in reversed(stack):
            number = self._number(outer.f_code)
            if number >= 0:
                self.events.extend((now_ns(), ENTER, number, outer.f_lineno))
                outer.f_trace = self._in_frame
                self._followed.append(outer)
                self._under_way.append((outer, outer.f_lineno))
            elif number == MODULE_CALL:
                self.events.extend((now_ns(), MODULE, id(outer.f_locals.get("self")), 0))
                outer.f_trace = self._in_module
                outer.f_trace_lines = False
                self._followed.append(outer)
                self._modules += 1
        self.active = True
        sys.settrace(self._on_call)
        return True

    def stop(self) -> None:
        """Restore the thread as it was."""
        if not self.active:
            return
        sys.settrace(None)
        for frame in self._followed:
            frame.f_trace = None
            frame.f_trace_lines = True
        self._followed = []
        self._under_way = []
        self.active = False

    def step(self) -> None:
        """A step is over."""
        self.values.step()

    def rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """File, line and what the window told of the values that it makes."""
        return self.values.rows()

    def save(self, events: str, code: str) -> None:
        """Two files: the integers as they are, and the code objects by number."""
        with open(events, "wb") as file:
            self.events.tofile(file)
        places = [[one.co_filename, getattr(one, "co_qualname", one.co_name)] for one in self.codes]
        with open(code, "w", encoding="utf-8", errors="backslashreplace") as text:
            json.dump(places, text)

    def _number(self, code: CodeType) -> int:
        found = self._known.get(code)
        if found is None:
            if self._is_followed(code.co_filename):
                found = len(self.codes)
                self.codes.append(code)
            else:
                found = IGNORED
            self._known[code] = found
        return found

    def _is_followed(self, file: str) -> bool:
        if file.startswith(self._ignored):
            return False
        # site-packages lie inside the standard library's folder, yet are no part of it.
        return file.startswith(self._packages) or not file.startswith(self._standard)

    def _is_users(self, file: str) -> bool:
        """Whether the file is the program's own, no installed package's."""
        return self._is_followed(file) and not file.startswith(self._packages)

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        number = self._known.get(frame.f_code)
        if number is None:
            number = self._number(frame.f_code)
        if number >= 0:
            self.events.extend((now_ns(), ENTER, number, frame.f_lineno))
            self._under_way.append((frame, -1))
            return self._in_frame
        if number == MODULE_CALL:
            frame.f_trace_lines = False
            scope = frame.f_locals
            module = scope.get("self")
            self.events.extend((now_ns(), MODULE, id(module), 0))
            self.values.called(
                self._under_way, module, self._modules == 0, scope.get("args", ()), scope.get("kwargs", {})
            )
            self._modules += 1
            return self._in_module
        return None

    def _in_frame(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            under_way, line = self._under_way, frame.f_lineno
            if under_way and under_way[-1][0] is frame:
                self.values.done(frame, under_way[-1][1])
                under_way[-1] = (frame, line)
            self.events.extend((now_ns(), LINE, self._known[frame.f_code], line))
            if self.at_line is not None:
                self.at_line(frame, line)
                if not self.active:
                    return frame.f_trace
        elif event == "return":
            under_way = self._under_way
            if under_way and under_way[-1][0] is frame:
                self.values.done(frame, under_way.pop()[1], arg)
            self.events.extend((now_ns(), LEAVE, 0, 0))
        return self._in_frame

    def _in_module(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._modules = max(self._modules - 1, 0)
            self.values.repeats.left(frame, arg, self._under_way)
            self.events.extend((now_ns(), MODULE_END, 0, 0))
        return self._in_module
