"""One recording per side: equal programs are not called different, and a planted 30 % is found."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.compare.judgement import judged
from sonde.compare.pace import Pace

RUN_SCATTER = 0.04  # of CPU time between equal runs on a busy machine, as measured by the benchmark aa_pairs


def run(rng: np.random.Generator, own_ms: float, taken: float = 0.6, scatter: float = RUN_SCATTER) -> Pace:
    """A recording on a busy machine: steps take as long as the neighbours want, the work takes what it takes."""
    factor = rng.lognormal(0, scatter)
    own = own_ms * factor * rng.lognormal(0, 0.03, 12)
    wall = own_ms * rng.uniform(1, 3) * rng.lognormal(0, 0.3, 60)
    return Pace(wall, own, taken)


def words(ratio: float, trials: int, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return [judged([run(rng, 10.0)], [run(rng, 10.0 * ratio)]).word for _ in range(trials)]


def test_equal_programs_on_a_busy_machine_are_called_different_in_at_most_one_of_twenty() -> None:
    assert sum(word != "inconclusive" for word in words(1.0, 400)) <= 20


@pytest.mark.parametrize(("ratio", "word"), [(1.3, "slower"), (1 / 1.3, "faster")])
def test_a_change_of_30_percent_is_found_in_nine_of_ten(ratio: float, word: str) -> None:
    assert words(ratio, 400).count(word) >= 360


def test_what_only_the_clock_shows_is_no_verdict_from_one_run_each() -> None:
    calm = Pace(np.full(60, 10.0), np.full(12, 8.0), 0.0)
    slower_by_the_clock = Pace(np.full(60, 15.0), np.full(12, 8.0), 0.0)
    found = judged([calm], [slower_by_the_clock])
    assert (found.word, found.measure) == ("inconclusive", "wall")
    assert found.wall_ratio == pytest.approx(1.5)
    more_work_too = Pace(np.full(60, 15.0), np.full(12, 12.0), 0.0)
    assert judged([calm], [more_work_too]).word == "slower"


def test_a_sleep_counts_though_it_takes_no_cpu_time() -> None:
    # Waits are part of `own_ms`: see test_pace.
    found = judged(
        [Pace(np.full(60, 30.0), np.full(12, 10.0), 0.5)], [Pace(np.full(60, 34.0), np.full(12, 14.0), 0.5)]
    )
    assert (found.word, found.measure) == ("slower", "own")


def test_earlier_recordings_tell_how_much_runs_of_this_program_differ() -> None:
    rng = np.random.default_rng(3)
    a, b = run(rng, 10.0, scatter=0.0), run(rng, 13.0, scatter=0.0)
    assert judged([a], [b]).word == "slower"
    unsteady = [run(rng, 10.0 * factor, scatter=0.0) for factor in (0.7, 1.4, 0.8, 1.3, 1.0, 0.75)]
    found = judged([a], [b], [unsteady, []])
    assert found.word == "inconclusive"
    assert found.scatter is not None
    assert (found.scatter.runs, found.scatter.deviation > 0.1) == (7, True)
    assert found.more_runs >= 3


def test_several_recordings_per_side_need_no_prior() -> None:
    rng = np.random.default_rng(4)
    sides = [[run(rng, ms, scatter=0.005) for _ in range(5)] for ms in (10.0, 10.8)]
    found = judged(*sides)
    assert (found.word, found.repetitions, found.scatter) == ("slower", "recordings", None)
    assert judged([sides[0][0]], [sides[1][0]]).word == "inconclusive", (
        "8 % is more than one run each can tell"
    )


def test_how_long_a_trace_lasts_says_nothing() -> None:
    found = judged(
        [Pace(np.array([10.0]), np.empty(0), 0.0)], [Pace(np.array([90.0]), np.empty(0), 0.0)], arbitrary=True
    )
    assert found.word == "inconclusive"
    assert "no steps" in found.reason
    assert not np.isfinite(found.ratio.high)


def test_two_steps_of_a_trace_are_not_taken_for_certain() -> None:
    a, b = (Pace(np.array([ms, ms]), np.empty(0), 0.0) for ms in (137.0, 111.0))
    assert judged([a], [b]).word == "inconclusive"
    many = (Pace(np.full(40, ms), np.empty(0), 0.0) for ms in (137.0, 111.0))
    assert judged([next(many)], [next(many)]).word == "faster"


def test_more_cpu_time_where_more_was_taken_is_no_verdict_from_one_run_each() -> None:
    """Seen: the same convolutions took 20 % more CPU time where others had 64 % of it, beside 36 % of it."""
    rng = np.random.default_rng(5)
    a, b, beside = run(rng, 10.0, 0.36, 0.0), run(rng, 12.2, 0.64, 0.0), run(rng, 12.2, 0.36, 0.0)
    assert judged([a], [b]).word == "inconclusive"
    assert judged([a], [beside]).word == "slower"
