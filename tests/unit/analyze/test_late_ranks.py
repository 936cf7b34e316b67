"""Who is late, by how much, always or by chance, and what a step would take without it: on jobs with exact times."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ranks.job import Job
from sonde.store import build
from tests.fixtures.made_job import MS, TRANSFER_MS, made_job, tables


def job(ranks: int, steps: int, work_ms: object) -> Job:
    return Job(tables(made_job(ranks, steps, work_ms)))  # type: ignore[arg-type]


def test_waiting_and_transfer_sum_to_the_time_of_each_call() -> None:
    shared = job(4, 10, lambda r, s: 5.0 + r + (s * 7 + r * 3) % 5).shared
    assert len(shared) == 10
    assert (shared.waiting_ns + shared.transfer_ns == shared.end - shared.queued).all()
    assert (shared.transfer_ns == TRANSFER_MS * MS).all()


def test_a_rank_that_is_late_in_every_step_is_named_with_its_lateness_and_the_step_without_it() -> None:
    late = job(2, 30, lambda r, s: 35.0 if r == 1 else 5.0).late
    assert late is not None
    assert (late.rank, late.pattern, late.late_steps, late.steps) == (1, "every step", 30, 30)
    assert late.late_ns == pytest.approx(30 * MS)
    assert late.sigma_ns == 0
    assert late.step_ns == pytest.approx(37 * MS)
    assert late.without_ns == pytest.approx(7 * MS, rel=0.01)
    assert late.sentence.startswith("rank 1 is 30.0 ± 0.0 ms late in every step: ")
    assert late.sentence.endswith("without it a step takes 7.0 instead of 37 ms")


@pytest.mark.parametrize("apart", [3, 4, 10])
def test_the_step_without_it_is_right_where_few_steps_follow_each_other(apart: int) -> None:
    """Every step begins with a short call; profiling windows leave one of `apart` out, and the replay begins anew."""
    made = made_job(2, 80, lambda r, s: 1.0 if s % 2 == 0 else 35.0 if r == 1 else 5.0)
    marks, calls = made["marks"], made["collectives"]
    number, begin, end = (marks.array(n) for n in ("number", "start_ns", "end_ns"))
    first = np.flatnonzero(number % 2 == 0)  # each process has two marks per step: they become one
    second = first + 2  # a step of both ranks further
    steps = marks.take(first).with_columns(end_ns=end[second], number=number[first] // 2)
    of_call = np.where(number[calls.array("step")] % 2 == 0, calls.array("step"), calls.array("step") - 2)
    out = np.flatnonzero((number[first] // 2 % apart == 0) & (marks.array("process")[first] == 0))
    windows = build.table(
        "marks",
        len(out),
        mark=len(marks) + np.arange(len(out)),
        process=np.zeros(len(out)),
        thread=np.zeros(len(out)),
        kind=["window"] * len(out),
        name=["complete"] * len(out),
        start_ns=begin[first][out] + MS,
        end_ns=end[second][out] - MS,
    )
    made |= {
        "marks": build.concat("marks", [steps, windows]),
        "collectives": calls.with_columns(step=of_call),
    }
    late = Job(tables(made)).late
    assert late is not None
    assert late.steps < 40
    assert late.step_ns == pytest.approx(40 * MS)
    assert late.without_ns == pytest.approx(10 * MS, rel=0.1)


def test_a_rank_that_is_late_in_every_fourth_step_is_named_for_these_steps() -> None:
    late = job(4, 40, lambda r, s: 45.0 if r == 2 and s % 4 == 0 else 5.0).late
    assert late is not None
    assert (late.rank, late.pattern, late.late_steps) == (2, "some steps", 10)
    assert "late in 10 of 40 steps" in late.sentence
    assert late.without_ns == pytest.approx(7 * MS, rel=0.02)


def test_jitter_that_meets_every_rank_is_random() -> None:
    dice = np.random.default_rng(5)
    late = dice.integers(0, 4, 60)
    found = job(4, 60, lambda r, s: 25.0 if late[s] == r else 5.0)
    assert (found.late, found.lateness.pattern) == (None, "random")


def test_a_rank_that_a_quota_stops_now_and_then_is_named_though_most_steps_are_short() -> None:
    jitter = np.random.default_rng(3).uniform(0, 8.0, (2, 60))
    late = job(2, 60, lambda r, s: 5.0 + jitter[r, s] + (90.0 if r == 1 and s % 5 == 0 else 0.0)).late
    assert late is not None
    assert (late.rank, late.pattern, late.late_steps) == (1, "some steps", 12)


def test_no_rank_is_named_for_the_bursts_of_other_programs_among_jitter() -> None:
    """24 steps of 60 are longer, most of them by rank 0; in the others the ranks are late in turns."""

    def work_ms(rank: int, step: int) -> float:
        if step % 5 < 2:
            return 24.0 if rank == (step % 30 == 0 or step % 30 == 11) else 6.0
        return 10.0 if rank == step % 2 else 6.0

    found = job(2, 60, work_ms)
    assert (found.late, found.lateness.pattern) == (None, "random")


def test_steps_in_deep_windows_are_not_compared() -> None:
    """A window slows the rank that it is open on: what is late then is Sonde."""
    made = made_job(2, 30, lambda r, s: 35.0 if r == 1 else 5.0)
    marks = made["marks"]
    mine = marks.array("process") == 1
    window = build.table(
        "marks",
        1,
        mark=[len(marks)],
        process=[1],
        thread=[1],
        kind=["window"],
        name=["complete"],
        start_ns=[int(marks.array("start_ns")[mine].min())],
        end_ns=[int(marks.array("end_ns")[mine].max())],
    )
    found = Job(tables(made | {"marks": build.concat("marks", [marks, window])}))
    assert (len(found.lateness.steps), found.late) == (0, None)


@pytest.mark.parametrize("seed", range(20))
def test_no_rank_of_an_even_job_is_named(seed: int) -> None:
    noise = np.random.default_rng(seed).exponential(0.5, (2, 40))
    found = job(2, 40, lambda r, s: 20.0 + noise[r, s])
    assert found.late is None


def test_a_call_that_differs_between_ranks_is_counted_and_not_compared() -> None:
    made = made_job(2, 6, lambda r, s: 5.0)
    sizes = made["collectives"].array("bytes").copy()
    sizes[3] = 8
    made["collectives"] = made["collectives"].with_columns(bytes=sizes)
    shared = Job(tables(made)).shared
    assert (len(shared), shared.mismatched, shared.unfinished) == (5, 1, 0)


def test_a_call_that_one_rank_never_left_is_unfinished() -> None:
    made = made_job(3, 6, lambda r, s: 5.0)
    ends = made["collectives"].array("end_ns").copy()
    ends[-1] = -1
    made["collectives"] = made["collectives"].with_columns(end_ns=ends)
    shared = Job(tables(made)).shared
    assert (len(shared), shared.unfinished) == (5, 1)


def test_missing_and_doubled_ranks_are_known() -> None:
    made = made_job(3, 6, lambda r, s: 5.0)
    made["processes"] = made["processes"].with_columns(
        rank=np.array([0, 1, 1], np.int32), world_size=np.array([4, 4, 4], np.int32)
    )
    found = Job(tables(made))
    assert (found.missing, found.double) == ((2, 3), (1,))
