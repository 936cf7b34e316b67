"""Recordings of several hosts put together: clocks hours apart that drift, missing, double and foreign ranks."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.ranks.job import Job
from sonde.analyze.ranks.shared import rank_of_rows
from sonde.cli.main import main
from sonde.errors import InputError
from sonde.ingest import open_any
from sonde.ingest.ranks.hosts import join, member_of
from sonde.store.recording import Recording
from sonde.store.writer import write_tables
from tests.fixtures.made_job import MS, made_job, part_of

HOUR = 3_600_000_000_000
DICE = np.random.default_rng(7)
NOISE = DICE.exponential(0.3, (512, 80))
MOVES = 0.2 + DICE.exponential(0.3, 80)
LATE = 2


def work(rank: int, step: int) -> float:
    return 10.0 + float(NOISE[rank, step]) + (6.0 if rank == LATE else 0.0)


def shifted(rank: int, time_ns: int) -> int:
    """Ranks 2 and 3 are on a host whose clock is three hours ahead and 50 ppm fast."""
    return 3 * HOUR + round(50e-6 * time_ns) if rank >= 2 else 0


def two_hosts(job: str | None = None) -> list[Recording]:
    made = made_job(4, 80, work, shifted, lambda step: float(MOVES[step]))
    return [part_of(made, [0, 1], "alpha", job), part_of(made, [2, 3], "beta", job)]


def joined(parts: list[Recording]) -> Recording:
    return join([member_of(part, f"{at}.sonde") for at, part in enumerate(parts)])


def test_clocks_hours_apart_that_drift_are_aligned_within_what_is_stated() -> None:
    whole = joined(two_hosts())
    truth = made_job(4, 80, work, transfer_ms=lambda step: float(MOVES[step]))["collectives"]
    clocks = whole.meta.details["rank_clocks"]
    calls = whole.table("collectives")
    rank = rank_of_rows(calls, whole.table("processes"))
    key = np.lexsort((rank, calls.array("number")))
    true_key = np.lexsort((truth.array("process"), truth.array("number")))
    error = calls.array("queued_ns")[key] - truth.array("queued_ns")[true_key]
    assert np.abs(error).max() <= clocks["uncertainty_ns"] + 1
    assert clocks["uncertainty_ns"] <= 1 * MS
    assert clocks["hosts"][1]["drift"] == pytest.approx(50e-6, abs=20e-6)
    late = Job(whole.table).late
    assert late is not None
    assert (late.rank, late.pattern) == (LATE, "every step")
    assert late.late_ns == pytest.approx(6 * MS, abs=1.5 * MS)
    assert (np.diff(calls.array("queued_ns")[key].reshape(80, 4).max(axis=1)) > 0).all()


def test_one_host_needs_no_alignment() -> None:
    made = made_job(4, 10, work)
    whole = joined([part_of(made, [0, 1], "alpha"), part_of(made, [2, 3], "alpha")])
    assert whole.meta.details["rank_clocks"]["words"].startswith("one clock")
    assert len(Job(whole.table).shared) == 10


def test_missing_ranks_are_named_first() -> None:
    made = made_job(4, 10, work)
    whole = joined([part_of(made, [0], "alpha"), part_of(made, [3], "alpha")])
    assert whole.meta.details["notes"] == ["of 4 ranks, 1-2 are missing: the recordings are of 0, 3"]


def test_a_rank_that_comes_twice_is_refused() -> None:
    made = made_job(4, 10, work)
    with pytest.raises(InputError, match="has rank 1 that another recording has too"):
        joined([part_of(made, [0, 1], "alpha"), part_of(made, [1, 2], "alpha")])


def test_a_recording_of_another_job_is_named_and_left_out() -> None:
    made = made_job(4, 10, work)
    parts = [
        part_of(made, [0, 1], "alpha", "a"),
        part_of(made, [2, 3], "alpha", "a"),
        part_of(made, [2, 3], "x", "b"),
    ]
    whole = joined(parts)
    assert whole.meta.details["notes"] == ["2.sonde is of job 'b', not 'a', and is left out"]
    assert Job(whole.table).ranks == (0, 1, 2, 3)


def test_a_clock_that_was_set_during_the_run_is_refused() -> None:
    made = made_job(4, 80, work, lambda r, t: HOUR if r >= 2 and t > 1_500 * MS else 0, lambda s: 0.4)
    with pytest.raises(InputError, match="no offset fits"):
        joined([part_of(made, [0, 1], "alpha"), part_of(made, [2, 3], "beta")])


def test_too_coarse_a_clock_is_refused_with_its_uncertainty() -> None:
    made = made_job(4, 10, work, shifted, lambda step: 9.0)
    with pytest.raises(InputError, match=r"known only within ±\d+\.\d\d ms"):
        joined([part_of(made, [0, 1], "alpha"), part_of(made, [2, 3], "beta")])


def test_a_folder_of_recordings_is_a_job_for_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, part in enumerate(two_hosts("j1")):
        target = tmp_path / f"j1.{at}.sonde"
        write_tables(target, part.tables())
        part.meta.write(target)
    assert Job(open_any(tmp_path).table).ranks == (0, 1, 2, 3)
    out = tmp_path / "out" / "job.sonde"
    assert main(["merge", str(tmp_path / "j1.0.sonde"), str(tmp_path / "j1.1.sonde"), "-o", str(out)]) == 0
    assert main(["show", str(out), "ranks"]) == 0
    printed = capsys.readouterr()
    assert "Rank 2 is" in printed.out
    assert "aligned by collectives within ±" in printed.out


def test_512_ranks_on_64_hosts_are_joined_in_seconds() -> None:
    made = made_job(
        512,
        20,
        work,
        lambda r, t: (r // 8) * HOUR + round((r // 8 - 32) * 1e-6 * t),
        lambda step: float(MOVES[step]),
    )
    parts = [part_of(made, list(range(at * 8, at * 8 + 8)), f"node{at}") for at in range(64)]
    began = time.process_time()
    whole = joined(parts)
    job = Job(whole.table)
    assert len(job.ranks) == 512
    assert len(job.shared) == 20
    assert job.late is not None
    assert job.late.rank == LATE
    assert time.process_time() - began < 30
