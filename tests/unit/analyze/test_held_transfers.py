"""A rank that is stopped inside transfers: nobody comes late, and yet it is the one that all wait for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sonde.analyze.ranks.job import Job
from sonde.columns import Table
from sonde.store import build
from tests.fixtures.made_job import MS, made_job, tables

LOOK_MS = 100
STOP_MS = 40.0


def quota_job(
    steps: int, carrier: str = "gloo_tcp_loop", throttled_s: float | None = None
) -> dict[str, Table]:
    """Two even ranks; every third transfer is longer by a stop of rank 1's carrier thread, rank 0 loses a little."""
    made = made_job(2, steps, lambda r, s: 10.0, transfer_ms=lambda s: 2.0 + (STOP_MS if s % 3 == 0 else 0.0))
    calls = made["collectives"]
    begin, until = int(calls.array("queued_ns").min()), int(calls.array("end_ns").max())
    looks = np.arange(begin, until, LOOK_MS * MS)
    mine = calls.take(np.flatnonzero(calls.array("process") == 1))
    stops = mine.array("end_ns")[::3]  # that is where the agent sees it
    lost = np.bincount(np.searchsorted(looks, stops, side="right") - 1, minlength=len(looks)) * STOP_MS * MS
    made["threads"] = build.table(
        "threads",
        thread=np.arange(4),
        process=np.array([0, 1, 0, 1]),
        tid=np.arange(4),
        kind=["main", "main", "native", "native"],
        name=["python", "python", carrier, carrier],
    )
    count = len(looks)
    made["samples"] = build.table(
        "samples",
        2 * count,
        thread=np.repeat([2, 3], count),
        time_ns=np.tile(looks, 2),
        weight_ns=np.concatenate((np.full(count, MS), lost)).astype(np.int64),
        state=["waiting"] * (2 * count),
        reason=["preempted"] * (2 * count),
        stack=np.full(2 * count, -1),
    )
    if throttled_s is not None:
        told = build.table(
            "marks",
            1,
            mark=np.array([len(made["marks"])]),
            process=np.array([1]),
            thread=np.array([1]),
            kind=["settings"],
            name=[""],
            extra=[json.dumps({"scheduling": {"throttled_s": throttled_s}})],
        )
        made["marks"] = build.concat("marks", [made["marks"], told])
    return made


def test_a_rank_that_is_stopped_inside_transfers_is_named_with_its_quota() -> None:
    job = Job(tables(quota_job(60, throttled_s=0.9)))
    late = job.late
    assert late is not None
    assert (late.rank, late.pattern, late.cause.kind) == (1, "some steps", "quota")
    assert "(a CPU quota)" in late.sentence
    # A stop over the border of two looks is known in the second alone, and cut to the part of the transfer in that.
    assert 0.8 * 20 * STOP_MS * MS < job.held.ns.sum() <= 20 * STOP_MS * MS + 1
    assert late.without_ns is not None
    assert 12 * MS <= late.without_ns < 15 * MS
    assert late.step_ns == pytest.approx((12 + STOP_MS / 3) * MS, rel=0.01)


def test_without_a_word_of_the_control_group_it_may_be_other_programs_as_well() -> None:
    late = Job(tables(quota_job(60))).late
    assert late is not None
    assert (late.rank, late.cause.kind) == (1, "taken")


def test_long_transfers_alone_name_nobody() -> None:
    assert Job(tables(quota_job(60, carrier="something"))).late is None


@pytest.mark.parametrize(("steps", "busy", "named"), [(40, 0.1, True), (40, 0.6, False), (90, 0.6, True)])
def test_short_runs_on_a_busy_machine_name_nobody(steps: int, busy: float, named: bool) -> None:
    """A rank is late in every step. The other one was off the CPU for a part of its way, too."""
    made = made_job(2, steps, lambda r, s: 25.0 if r == 1 else 10.0)
    looks = np.arange(0, 30, dtype=np.int64) * LOOK_MS * MS + 1_000 * MS
    made["samples"] = build.table(
        "samples",
        len(looks),
        thread=np.zeros(len(looks), np.int64),
        time_ns=looks,
        weight_ns=np.full(len(looks), int(busy * LOOK_MS * MS)),
        state=["waiting"] * len(looks),
        reason=["preempted"] * len(looks),
        stack=np.full(len(looks), -1),
    )
    assert (Job(tables(made)).late is not None) is named
