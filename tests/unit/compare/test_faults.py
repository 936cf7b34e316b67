"""Page faults per step, and a verdict that does not follow them."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.compare.faults import Faults, faults, ns_each
from sonde.compare.judgement import judged
from sonde.compare.pace import Pace
from sonde.store import build

SECOND = 1_000_000_000


def test_faults_and_system_time_are_those_of_the_steps() -> None:
    times = [0, 10 * SECOND, 20 * SECOND]
    counters = build.table(
        "counters", time_ns=[*times, *times, 0], process=[0] * 6 + [1],
        name=["minor_faults"] * 3 + ["cpu_system_ns"] * 3 + ["minor_faults"],
        value=[0.0, 50_000.0, 250_000.0, 0.0, 1e9, 1.4e9, 9e9],
    )  # fmt: skip
    found = faults(counters, 0, 10 * SECOND, 20 * SECOND, 100)
    assert (found.count, found.system_ms) == (pytest.approx(2000.0), pytest.approx(4.0))
    assert faults(build.empty("counters"), 0, 0, SECOND, 10) == Faults()


def test_a_fault_costs_no_more_than_the_system_time_that_went_with_it() -> None:
    assert ns_each([Faults(2000.0, 4.0), Faults(100.0, 4.0)]) == pytest.approx(2000.0)
    assert ns_each([Faults(100.0, 4.0)]) == 2500.0
    assert Faults(2000.0, 1.0).ms(2500.0) == 1.0


def run(own_ms: float, fault_count: float) -> Pace:
    times = np.full(12, own_ms) * np.linspace(0.99, 1.01, 12)
    return Pace(np.full(60, own_ms * 2), times, 0.5, Faults(fault_count, fault_count * 0.002 + 0.5))


def test_equal_programs_are_not_different_because_the_heap_was() -> None:
    found = judged([run(30.0, 2500.0)], [run(25.0, 0.0)])
    assert found.word == "inconclusive"
    assert found.faults == (2500.0, 0.0)
    assert judged([run(30.0, 0.0)], [run(23.0, 0.0)]).word == "faster", (
        "without faults such a difference is one"
    )


def test_a_change_is_found_though_faults_hide_it() -> None:
    found = judged([run(30.0, 2500.0)], [run(34.0, 0.0)])
    assert found.word == "slower"
    assert found.ratio.estimate == pytest.approx(34.0 / 25.0, rel=0.04)


def test_several_recordings_count_faults_as_they_came() -> None:
    found = judged(
        [run(30.0 + x, 2500.0) for x in (0, 0.1, 0.2)], [run(25.0 + x, 0.0) for x in (0, 0.1, 0.2)]
    )
    assert (found.word, found.faults) == ("faster", None)
