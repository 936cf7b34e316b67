"""Overhead from blocks with a known cost in them, and from the agent's own clocks."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sonde.analyze.recording.overhead import overhead_of, typical
from sonde.columns import Table, Text
from sonde.store import build

Row = tuple[str, int, int, str | None]


def run_of(pairs: int, cost: float, seed: int = 0, noise: float = 0.0, drift: float = 0.0) -> list[Row]:
    """Marks of a program of equal steps: 20 per block, slower by `cost` in blocks with sampling."""
    chance = random.Random(seed)
    rows: list[Row] = []
    now = 0
    for pair in range(pairs):
        order = [True, False]
        chance.shuffle(order)
        for on in order:
            factor = (1 + cost if on else 1.0) * (1 + drift * pair) * float(np.exp(chance.gauss(0, noise)))
            step = round(1_000_000 * factor)
            extra = f'{{"cpu_ns": {20 * step}}}'
            rows.append((f"overhead_{'on' if on else 'off'}", now, now + 20 * step, extra))
            for _ in range(20):
                rows.append(("step", now, now + step, None))
                now += step
    return rows


def marks_of(rows: list[Row], process: int = 0) -> Table:
    kind, start, end, extra = (list(column) for column in zip(*rows, strict=True))
    return build.table(
        "marks",
        process=np.full(len(rows), process),
        kind=Text.of(kind),
        start_ns=start,
        end_ns=end,
        extra=Text.of(extra),
    )


def counters_of(**values: float) -> Table:
    names = list(values)
    return build.table("counters", name=Text.of([*names]), value=list(values.values()))


NOTHING = build.empty("counters")


def test_blocks_give_the_cost_that_is_in_them_whatever_drifts() -> None:
    found = overhead_of(NOTHING, marks_of(run_of(40, cost=0.02, drift=0.01)), 1)
    assert (found.method, found.pairs) == ("blocks", 40)
    assert found.share == pytest.approx(0.02, abs=1e-4)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for seed in range(200):
        found = overhead_of(NOTHING, marks_of(run_of(30, cost=0.01, seed=seed, noise=0.05)), 1)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.01 <= found.high
    assert 180 <= held <= 199  # 95 % of 200, with its binomial error


def test_a_few_disturbed_blocks_do_not_decide() -> None:
    rows = run_of(40, cost=0.02, noise=0.003)
    for i in (0, 21, 42):  # a neighbour took the cache: three times the CPU time for the same work
        kind, start, end, _ = rows[i]
        rows[i] = (kind, start, end, f'{{"cpu_ns": {3 * (end - start)}}}')
    assert overhead_of(NOTHING, marks_of(rows), 1).share == pytest.approx(0.02, abs=0.004)


def test_the_agents_own_thread_is_added() -> None:
    counters = counters_of(agent_background_cpu_ns=5e6)
    found = overhead_of(counters, marks_of(run_of(20, cost=0.02)), 1_005_000_000)
    assert found.share == pytest.approx(0.025, abs=1e-4)


def test_blocks_disturbed_by_a_deep_window_do_not_count() -> None:
    rows = run_of(20, cost=0.02)
    blocks = [row for row in rows if row[0].startswith("overhead")]
    windows: list[Row] = [("window", blocks[2 * i][1] + 1, blocks[2 * i][2] - 1, None) for i in range(11)]
    assert overhead_of(NOTHING, marks_of([*rows, *windows[:5]]), 1).pairs == 15
    assert overhead_of(NOTHING, marks_of([*rows, *windows]), 1).method == "blocks"
    assert overhead_of(NOTHING, marks_of([*rows, *windows, *windows]), 1).pairs == 9


def test_each_process_is_compared_with_itself() -> None:
    a, b = marks_of(run_of(10, 0.02), 0), marks_of(run_of(10, 0.02, seed=1), 1)
    both = build.table(
        "marks",
        process=np.concatenate([a.array("process"), b.array("process")]),
        kind=Text.concat([a.text("kind"), b.text("kind")]),
        start_ns=np.concatenate([a.array("start_ns"), b.array("start_ns")]),
        end_ns=np.concatenate([a.array("end_ns"), b.array("end_ns")]),
        extra=Text.concat([a.text("extra"), b.text("extra")]),
    )
    found = overhead_of(NOTHING, both, 1)
    assert found.pairs == 20
    assert found.share == pytest.approx(0.02, abs=1e-4)


def test_the_typical_value_is_the_middle_of_pairwise_means() -> None:
    values = np.array([1.0, 2.0, 10.0] * 4)
    means = [(a + b) / 2 for i, a in enumerate(values) for b in values[i:]]
    centre, low, high = typical(values)
    assert centre == np.median(means)
    assert low < centre < high


def test_without_blocks_handlers_thread_and_kernel_are_added_up() -> None:
    counters = counters_of(agent_handler_ns=3e6, agent_background_cpu_ns=2e6, agent_samples=1000)
    found = overhead_of(counters, build.empty("marks"), 10**9, "timer+kernel")
    assert found.method == "accounted"
    assert found.share == pytest.approx((5e6 + 1000 * 8000) / 1e9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.share < found.high
    by_perf = overhead_of(counters, build.empty("marks"), 10**9, "perf+kernel")
    assert by_perf.share is not None
    assert by_perf.high is not None
    assert by_perf.share > found.share, "an interrupt of its own"
    assert by_perf.high > found.high


def test_nothing_is_known_without_figures() -> None:
    assert overhead_of(NOTHING, build.empty("marks"), 10**9).share is None


def test_what_the_windows_cost_is_part_of_it() -> None:
    counters = counters_of(agent_handler_ns=3e6, agent_background_cpu_ns=2e6, agent_samples=0)
    windows: list[Row] = [
        ("window", 0, 0, None),  # it opened
        ("window", 0, 100, '{"steps": 3, "cost_ns": 30000000}'),
        ("window", 200, 300, '{"steps": 3, "cost_ns": 10000000}'),
        ("step", 200, 300, '{"cost_ns": 10000000}'),
        ("window", 400, 500, '{"cost_ns": -5}'),
    ]
    found = overhead_of(counters, marks_of(windows), 10**9, "timer+kernel")
    assert found.share == pytest.approx(0.045)
    assert found.windows == pytest.approx(0.04)
    assert overhead_of(NOTHING, marks_of(run_of(40, cost=0.02) + windows), 10**9).share == pytest.approx(
        0.06, abs=1e-3
    )
