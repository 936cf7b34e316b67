"""When windows open: after warm-up, when they fit, and never beyond the share of run time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.record.inside.budget import MOST_WINDOWS, WINDOW_STEPS, Budget


def test_no_window_before_steps_are_steady() -> None:
    budget = Budget(0.02)
    budget.step(5.0)
    budget.step(1.0)
    assert budget.steps_to_record(lambda: 1000) == 0
    budget.step(0.1)
    assert budget.steps_to_record(lambda: 1000) == 0
    budget.step(0.1)
    budget.step(0.1)
    assert budget.steps_to_record(lambda: 1000) == WINDOW_STEPS


def test_a_program_that_never_gets_steady_is_recorded_all_the_same() -> None:
    budget = Budget(0.02)
    for number in range(20):
        budget.step(1.0 + number % 2)
    assert budget.steps_to_record(lambda: 1000) == WINDOW_STEPS


def test_a_window_waits_until_it_fits() -> None:
    budget = Budget(0.02, modules=300)
    for _ in range(5):
        budget.step(1.0)
    assert budget.steps_to_record(lambda: 1.0) == 0
    budget.step(1.0)
    assert budget.steps_to_record(lambda: 18.0) == 1
    assert budget.steps_to_record(lambda: 100.0) == WINDOW_STEPS


def test_the_cost_of_the_first_window_replaces_the_guess() -> None:
    budget = Budget(0.02)
    budget.window(3, control_s=2.0, extra_s=1.0)
    assert budget.expected_s(3) == pytest.approx(3.0)
    for _ in range(100):
        budget.step(1.0)
    assert budget.steps_to_record(lambda: 680.0) == 0  # 3.4 s allowed by now, 3.0 spent
    for _ in range(20):
        budget.step(1.0)
    assert budget.steps_to_record(lambda: 1600.0) == WINDOW_STEPS


def test_a_disturbed_window_is_taken_again_soon_but_not_for_ever() -> None:
    undisturbed, disturbed = Budget(0.02), Budget(0.02)
    undisturbed.window(3, control_s=0.1, extra_s=0.1)
    disturbed.window(3, control_s=0.1, extra_s=0.1, again=True)
    assert disturbed.next_look < undisturbed.next_look
    assert disturbed.spent_s == undisturbed.spent_s  # within the budget
    for _ in range(3 + MOST_WINDOWS):
        disturbed.window(3, control_s=0.1, extra_s=0.1, again=True)
    assert disturbed.windows >= MOST_WINDOWS


def test_steps_that_a_window_slows_down_are_charged_within_reason() -> None:
    budget = Budget(0.02)
    assert budget.slowdown_s(3, 9.0, 0.01) == 0.01  # nothing to compare with
    for duration in (0.5, 0.1, 0.1, 0.11, 0.09):
        budget.step(duration)
    assert budget.slowdown_s(3, 0.32, 0.01) == pytest.approx(0.02)
    assert budget.slowdown_s(3, 0.25, 0.01) == 0.01  # quick by chance: the events still cost something
    assert budget.slowdown_s(3, 3.0, 0.01) == pytest.approx(0.04)  # slow by chance


@given(
    st.lists(st.floats(0.001, 2.0), min_size=1, max_size=300),
    st.floats(0.001, 0.5),
    st.floats(0.0005, 0.05),
)
def test_spending_never_exceeds_the_share_by_more_than_the_first_window(
    durations: list[float], per_step: float, share: float
) -> None:
    budget = Budget(share)
    cpu, first = 2.0, 0.0
    for duration in durations:
        cpu += duration
        budget.step(duration)
        steps = budget.steps_to_record(lambda: cpu)  # noqa: B023
        if steps:
            cost = steps * per_step
            cpu += cost
            budget.window(steps, cost, 0.0)
            first = first or cost
    assert budget.windows <= MOST_WINDOWS
    assert budget.spent_s <= share * cpu + first + 1e-9


def test_a_short_program_gets_two_steps_soon_though_the_share_is_too_small() -> None:
    budget = Budget(0.02, modules=100)
    for _ in range(4):
        budget.step(0.09)
    assert budget.steps_to_record(lambda: 1.0) == 0  # 0.36 s of work: the share of 1 s of CPU time is 20 ms
    for _ in range(3):
        budget.step(0.09)
    assert budget.steps_to_record(lambda: 2.0) == 2
    budget.window(1, 0.05, 0.05)
    for _ in range(100):
        budget.step(0.09)
    assert budget.steps_to_record(lambda: 3.0) == 0  # those after it keep to the share


def test_a_very_large_model_waits_for_its_share() -> None:
    budget = Budget(0.02, modules=2000)
    for _ in range(10):
        budget.step(0.5)
    assert budget.steps_to_record(lambda: 6.0) == 0


def test_the_first_window_waits_for_two_steps_where_they_are_cheap() -> None:
    budget = Budget(0.02, modules=100)
    for _ in range(4):
        budget.step(0.01)
    one_s = budget.expected_s(1)
    assert budget.steps_to_record(lambda: 1.1 * one_s / 0.02) == 0  # allowed one: it shows no change
    assert budget.expected_s(2) < 0.3
    budget.step(0.01)
    assert budget.steps_to_record(lambda: 1.1 * budget.expected_s(2) / 0.02) == 2
