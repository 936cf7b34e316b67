"""What counts as the program's own time, and what the machine took away."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.columns import Table
from sonde.compare.blocks import Blocks
from sonde.compare.pace import Pace, pace
from sonde.store import build

MS = 1_000_000
THREADS = build.table("threads", thread=[0, 1], process=[0, 0], tid=[1, 2], kind=["main", "omp"])
# Two steps of 500 ms.
BLOCKS = Blocks(np.array([0, 500 * MS]), np.array([500 * MS, 1000 * MS]), np.array([0, 1]), "step")


def samples(*rows: tuple[int, int, str, str | None, int]) -> Table:
    """time in ms, thread, state, reason, weight in ms"""
    time, thread, state, reason, weight = zip(*rows, strict=True)
    return build.table(
        "samples", time_ns=[t * MS for t in time], thread=thread, stack=[0] * len(rows), state=state,
        reason=reason, weight_ns=[w * MS for w in weight],
    )  # fmt: skip


def own(table: Table) -> Pace:
    return pace(np.array([500.0, 500.0]), table, THREADS, 0, BLOCKS)


def test_own_time_is_work_and_waits_of_the_main_thread_without_what_was_taken_away() -> None:
    found = own(
        samples(
            (0, 0, "running", None, 0),
            (100, 0, "running", None, 100),
            (600, 0, "running", None, 100),
            (700, 0, "waiting", "sleep", 50),
            (0, 0, "waiting", "preempted", 600),
            (300, 0, "spinning", None, 80),
            (300, 0, "imbalance", None, 80),
            (300, 1, "running", None, 400),
            (1000, 0, "waiting", "idle", 900),
        )
    )
    assert found.own_ms == pytest.approx([125.0]), "250 ms in two steps, joined for want of CPU time"
    assert found.taken == pytest.approx(0.6)


def test_a_wait_is_shared_by_the_steps_that_it_covers() -> None:
    running = [(t, 0, "running", None, 10) for t in range(0, 1000, 2)]
    found = own(samples(*running, (400, 0, "waiting", "lock", 200)))
    assert found.own_ms == pytest.approx([2600.0, 2600.0])
    found = own(samples(*running, (400, 0, "waiting", "lock", 100)))
    assert found.own_ms == pytest.approx([2600.0, 2500.0])


def test_sleep_and_input_are_spread_over_all_steps_and_not_taken_for_a_disturbance() -> None:
    running = [(t, 0, "running", None, 10) for t in range(0, 1000, 2)]
    found = own(samples(*running, (0, 0, "waiting", "sleep", 300), (10, 0, "waiting", "io", 100)))
    assert found.own_ms == pytest.approx([2700.0, 2700.0])
    assert found.asleep_ms == pytest.approx(200.0)
    assert found.own_error > 0


def test_without_samples_of_the_main_thread_the_clock_is_all_there_is() -> None:
    found = own(samples((100, 1, "running", None, 10), (200, 1, "running", None, 10)))
    assert len(found.own_ms) == 0
    assert found.own == found.wall == 500.0


def test_the_faster_half_of_the_blocks_speaks_for_the_program() -> None:
    blocks = np.array([10.0, 10.1, 9.9, 10.0, 16.0, 15.0, 14.0, 18.0])
    assert Pace(np.array([1.0]), blocks, 0.5).own == pytest.approx(10.0)
