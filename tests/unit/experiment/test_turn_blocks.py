"""Blocks of steps of two programs that took turns: what they say on a machine whose drift is known."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.steps.program import step_reports
from sonde.experiment.measure.turn_blocks import Blocks, _blocks, _without_pauses, ratio_of
from sonde.store import build

STEP_NS, PER_TURN, TURNS = 5_000_000, 8, 12


def taking_turns(slower: float, drift: float) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """Steps and pauses of two programs; the machine gets slower by `drift` a second, B's steps are `slower`."""
    now = 1_000_000_000
    steps: list[list[tuple[int, int]]] = [[], []]
    pauses: list[list[tuple[int, int]]] = [[], []]
    stood = [now, now]
    end = [now, now]
    for turn in range(2 * TURNS):
        side = turn % 2
        pauses[side].append((stood[side], now))
        for _ in range(PER_TURN):
            pace = 1 + drift * (now - 1_000_000_000) / 1e9
            took = round(STEP_NS * pace * (1 + slower if side else 1))
            # The step after a pause began before it.
            steps[side].append((end[side], now + took))
            now += took
            end[side] = now
        stood[side] = now
    return [(steps[i], pauses[i]) for i in (0, 1)]


def blocks_of(steps: list[tuple[int, int]], pauses: list[tuple[int, int]]) -> Blocks:
    rows = [("step", *s, i) for i, s in enumerate(steps)] + [("pause", *p, -1) for p in pauses]
    rows.sort(key=lambda row: row[1])
    marks = build.table(
        "marks", mark=list(range(len(rows))), process=[0] * len(rows), thread=[0] * len(rows),
        kind=[r[0] for r in rows], name=["train"] * len(rows), number=[r[3] for r in rows],
        start_ns=[r[1] for r in rows], end_ns=[r[2] for r in rows], extra=[None] * len(rows),
    )  # fmt: skip
    start, end = (np.array([p[i] for p in pauses], np.int64) for i in (0, 1))
    (report,) = step_reports(_without_pauses(marks, start, end))
    return _blocks(report, start - np.concatenate([[0], np.cumsum(end - start)[:-1]]))


@pytest.mark.parametrize("slower", [0.0, 0.05, -0.03])
def test_a_machine_that_drifts_by_half_favours_neither(slower: float) -> None:
    a, b = (blocks_of(*side) for side in taking_turns(slower, drift=0.5))
    values = ratio_of(a, b)
    assert values is not None
    assert values[1] / values[0] == pytest.approx(1 + slower, abs=0.002)
    # One after the other, the drift alone would be a large difference.
    halves = np.array(list(a.median_ns.values()))
    assert halves[-1] / halves[0] > 1.2


def test_the_step_in_which_it_stood_counts_nowhere() -> None:
    a, _ = (blocks_of(*side) for side in taking_turns(0.0, drift=0.0))
    assert set(a.median_ns.values()) == {float(STEP_NS)}
    assert a.steady <= TURNS * (PER_TURN - 1)


def test_too_few_turns_say_nothing() -> None:
    assert ratio_of(Blocks({1: 1e6, 2: 1e6}, 8), Blocks({1: 1e6}, 4)) is None
    assert ratio_of(Blocks({}, 0), Blocks({}, 0)) is None


def test_a_block_without_neighbours_counts_nowhere() -> None:
    a = Blocks({1: 1e6, 2: 1e6, 3: 1e6, 5: 9e6}, 40)
    b = Blocks({1: 2e6, 2: 2e6, 3: 2e6}, 30)
    values = ratio_of(a, b)
    assert values is not None
    assert values[1] / values[0] == pytest.approx(2.0)
