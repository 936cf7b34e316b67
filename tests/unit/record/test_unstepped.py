"""The window that follows a loop ends with the loop, also where it had just ended when the window opened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from sonde.record.inside import unstepped
from sonde.record.inside.unstepped import TURNS_MOST_NS, Unstepped
from sonde.record.inside.windows import LOOP

MS = 1_000_000
LOOP_LINE = 10


class Windows:
    """Keeps what is asked of it."""

    has_steps = False

    def __init__(self) -> None:
        self.at_line: Callable[[FrameType, int], None] = lambda frame, line: None
        self.turns, self.closed = 0, ""

    def open_by_time(self, at_line: Callable[[FrameType, int], None]) -> bool:
        self.at_line = at_line
        return True

    def turned(self) -> None:
        self.turns += 1

    def close_now(self, reason: str) -> None:
        self.closed = self.closed or reason


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    time = SimpleNamespace(ns=1_000 * MS)
    monkeypatch.setattr(unstepped, "now_ns", lambda: time.ns)
    return time


def opened(period_ns: int) -> tuple[Windows, FrameType]:
    """A window on a loop of this frame, whose turns took so long."""
    windows, frame = Windows(), sys._getframe()
    session: Any = SimpleNamespace(mark=lambda *args: None)
    found: Any = SimpleNamespace(outermost=lambda: (frame, LOOP_LINE, period_ns, 5))
    any_windows: Any = windows
    Unstepped(any_windows, session)._found(found)
    return windows, frame


def test_it_ends_though_the_loop_never_turns_again(clock: SimpleNamespace) -> None:
    windows, frame = opened(10 * MS)
    windows.at_line(frame, 20)  # behind the loop: the training begins
    assert windows.closed == ""
    clock.ns += TURNS_MOST_NS + MS
    windows.at_line(frame, 21)
    assert (windows.closed, windows.turns) == (LOOP, 0)


def test_slow_turns_are_waited_for(clock: SimpleNamespace) -> None:
    windows, frame = opened(1_000 * MS)
    clock.ns += 900 * MS
    windows.at_line(frame, 20)
    assert windows.closed == ""
    clock.ns += 100 * MS
    windows.at_line(frame, LOOP_LINE)
    assert (windows.closed, windows.turns) == ("", 1)


def test_it_ends_after_some_turns(clock: SimpleNamespace) -> None:
    windows, frame = opened(10 * MS)
    for _ in range(unstepped.TURNS + 1):
        assert windows.closed == ""
        clock.ns += 10 * MS
        windows.at_line(frame, LOOP_LINE)
    assert windows.closed == LOOP
