"""Windows that no step decides on: `sonde.profile()`, a request from outside, the loop of a program without steps.

Enters: the request, on the thread that it is about. Leaves: a window that opens or closes now, or at the next safe
point. The state and the acts themselves are those of `windows.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from sonde.record.inside.session import Session

if TYPE_CHECKING:
    from sonde.record.inside.deep import Deep, Lines, Trace


class WindowsOnRequest:
    """The part of `Windows` that others ask for."""

    _session: Session
    _deep: Deep | None
    _open: Trace | None
    _lines: Lines | None
    _mode: str
    _thread: int
    _steps: int
    _wish: int
    _skip: int
    _count: int
    _open_steps: int
    _held: bool
    _closing: bool
    _trained: bool
    _aside: bool
    _asked: bool
    _leaving: bool
    pending: bool

    if TYPE_CHECKING:  # the acts are the subclass's

        def _act(self) -> None: ...
        def _begin(self) -> None: ...
        def _end(self, reason: str) -> None: ...

    def open_now(self) -> bool:
        """Open a window at once, for `sonde.profile()`, or keep the open one; False when that cannot be."""
        if self._deep is None or self._held or (self._open is not None and self._mode == "all"):
            return False
        self._held = True
        if self._open is not None:
            self._closing = self.pending = False
            return True
        self._thread = self._session.tid()
        self._wish = -1
        self._act()
        self._held = self._open is not None
        return self._held

    @property
    def has_steps(self) -> bool:
        """Whether the program has made a step, or may: nothing else tells windows when to open."""
        return self._steps > 0 or self._trained or self._aside or self._open is not None

    def open_by_time(self, at_line: Callable[[FrameType, int], None]) -> bool:
        """Open a window in a program without steps, on its main thread; `at_line` is told of every line."""
        if self._deep is None:
            return False
        self._thread, self._wish = self._session.tid(), -1
        self._begin()
        if self._lines is None and self._open is not None:  # a debugger has the lines: nothing would end it
            self._end("no lines")
        elif self._lines is not None:
            self._lines.at_line = at_line
        self._held = self._open is not None
        return True

    @property
    def follows_loop(self) -> bool:
        """Whether the open window was opened by `open_by_time`."""
        return self._lines is not None and self._lines.at_line is not None

    def turned(self) -> None:
        """A turn of the loop that such a window follows has ended."""
        if self._open is not None and self._lines is not None:
            self._open.tick()
            self._lines.step()
            self._open_steps += 1

    def close_now(self, reason: str = "region ended") -> None:
        if self._open is not None:
            self._end(reason)

    @property
    def count(self) -> int:
        """Windows that are complete."""
        return self._count

    def ask(self, steps: int) -> str:
        """Open a window of so many steps at the next safe point, whatever the budget says. Why not, if not."""
        if self._deep is None:
            return "the program has no framework that windows can record"
        if self._aside:
            return "the program uses torch.profiler itself, or a window has failed"
        if self._leaving or self._asked or self._open is not None:
            return "a window is being recorded"
        self._asked, self._skip = True, 0
        self._wish, self.pending = steps, True
        return ""

    def ask_to_close(self) -> None:
        """No further windows; the open one is closed at its thread's next safe point."""
        self._leaving = True
        self._asked, self._held = False, False
        self._wish, self._skip = 0, 0
        self._closing = self.pending = self._open is not None
