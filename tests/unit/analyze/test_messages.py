"""Pipelines: how long each stage waits for messages, and which of them the others wait for."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ranks.job import Job
from sonde.columns import Text
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.made_job import MS, made_job, tables


def pipeline(waits_ms: tuple[float, ...], steps: int = 12) -> Recording:
    """Every rank receives once a step, and stands still for it so long."""
    made = made_job(len(waits_ms), steps, lambda rank, step: 18.0)
    calls = made["collectives"]
    waited = np.array([waits_ms[r] * MS for r in calls.array("process").tolist()], np.int64)
    made["collectives"] = calls.with_columns(
        number=np.full(len(calls), -1), kind=Text.full(len(calls), "receive"), waited_ns=waited
    )
    return Recording(Meta(source="run", program="job.py"), made)


def test_the_stage_that_hardly_waits_sets_the_pace() -> None:
    recording = pipeline((12.0, 11.0, 1.0, 13.0))
    found = Job(recording.table).messages
    assert found.pace == 2
    assert found.waiting_ns == pytest.approx({0: 12 * MS, 1: 11 * MS, 2: MS, 3: 13 * MS})
    answer = VIEWS["ranks"].data(recording, ShowOptions())
    assert (answer["pace"], answer["late"]) == (2, None)
    assert answer["sentence"] == (
        "Rank 2 sets the pace: it waits 1.0 ms a step for messages, the others 11.0 to 13.0 ms."
    )
    assert [r["message_ms"] for r in answer["rows"]] == pytest.approx([12, 11, 1, 13])


def test_time_that_threads_stand_still_for_collectives_is_told_per_step() -> None:
    made = made_job(2, 12, lambda rank, step: 35.0 if rank else 5.0)
    calls = made["collectives"]
    waited = calls.array("end_ns") - calls.array("queued_ns") - MS  # a collective that was asked for early
    made["collectives"] = calls.with_columns(waited_ns=waited)
    answer = VIEWS["ranks"].data(Recording(Meta(source="run", program="job.py"), made), ShowOptions())
    assert [r["mean_ms"] for r in answer["rows"]] == pytest.approx([37, 37])
    assert [r["exposed_ms"] for r in answer["rows"]] == pytest.approx([31, 1])
    assert [r["waiting_ms"] + r["transfer_ms"] for r in answer["rows"]] == pytest.approx([32, 2])


def test_stages_that_wait_alike_have_no_pace_setter() -> None:
    assert Job(pipeline((12.0, 9.0, 8.0, 13.0)).table).messages.pace == -1


def test_short_waits_are_not_worth_a_word() -> None:
    assert Job(pipeline((0.5, 0.1)).table).messages.pace == -1


def test_a_job_without_messages_has_none() -> None:
    assert Job(tables(made_job(2, 12, lambda rank, step: 5.0))).messages.waiting_ns == {}
