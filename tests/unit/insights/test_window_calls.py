"""Which steps the rules see the calls of."""

from __future__ import annotations

import pytest

from sonde.insights.calls import window_calls
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

STEP = 100_000_000


def one_window(opened: int) -> Subject:
    """Steps of 100 ms; the window opens `opened` ns into the second one and closes after its end."""
    marks = build.table(
        "marks",
        mark=[0, 1, 2, 3],
        process=[0] * 4,
        thread=[0] * 4,
        kind=["step", "step", "step", "window"],
        name=["", "", "", ""],
        start_ns=[0, STEP, 2 * STEP, STEP + opened],
        end_ns=[STEP, 2 * STEP, 3 * STEP, 2 * STEP + 5_000_000],
    )
    ops = build.table(
        "ops",
        op=[0],
        parent=[-1],
        thread=[0],
        name=["aten::mm"],
        kind=["op"],
        start_ns=[STEP + opened + 1000],
        end_ns=[STEP + opened + 30_000_000],
    )
    return Subject(Recording(Meta(), {"marks": marks, "ops": ops}))


def test_a_step_whose_window_opened_a_moment_late_is_a_step() -> None:
    found = window_calls(one_window(6_000_000))
    assert (found.steps, found.whole_ns) == (1, STEP - 6_000_000)  # what was not seen is not counted


def test_calls_of_part_of_a_step_are_not_called_no_calls() -> None:
    with pytest.raises(NotEnough, match="operator calls were recorded, but not of one whole step"):
        window_calls(one_window(60_000_000))


def test_a_window_of_most_of_one_step_counts() -> None:
    found = window_calls(one_window(40_000_000))
    assert (found.steps, found.whole_ns) == (1, STEP - 40_000_000)


def test_no_calls_are_called_so() -> None:
    with pytest.raises(NotEnough, match="no operator calls were recorded"):
        window_calls(Subject(Recording(Meta())))
