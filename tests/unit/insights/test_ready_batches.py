"""Waits for a DataLoader whose workers are slow, and for one whose batches are ready and dear to hand over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sonde.insights.engine import judge
from sonde.insights.rules.input import loader_stall
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import MS
from tests.unit.insights.pairs.host import FETCH, batch, model


def with_workers(making: float) -> Recording:
    """Two workers that fetch samples in this share of their time, and wait for work in the rest."""
    alone = model(batch(7), batch(1, FETCH), says={"loaders": [{"num_workers": 2}]})
    samples, frames, stacks = (alone.table(name) for name in ("samples", "frames", "stacks"))
    leaf = stacks.array("frame").tolist()
    fetch = next(row for row, frame in enumerate(leaf) if frames.text("name")[frame] == "fetch")
    begin, end = (int(edge(samples.array("time_ns"))) for edge in (np.min, np.max))
    times = list(range(begin, end, 5 * MS))
    at_work = [n % 100 < 100 * making for n in range(len(times))]
    workers = [
        build.table(
            "samples",
            time_ns=times,
            thread=[thread] * len(times),
            stack=[fetch if busy else -1 for busy in at_work],
            state=["running" if busy else "waiting" for busy in at_work],
            reason=[None if busy else "io" for busy in at_work],
            weight_ns=[5 * MS] * len(times),
        )
        for thread in (8, 9)
    ]
    threads = build.table(
        "threads", thread=[8, 9], process=[8, 9], kind=["main"] * 2, start_ns=[begin] * 2, end_ns=[end] * 2
    )
    processes = build.table(
        "processes",
        process=[8, 9],
        role=["dataloader"] * 2,
        start_ns=[begin] * 2,
        end_ns=[end] * 2,
        cpu_user_ns=[int(making * (end - begin))] * 2,
        cpu_system_ns=[0] * 2,
    )
    tables = {t.name: t for t in alone.tables()} | {
        "samples": build.concat("samples", [samples, *workers]),
        "threads": build.concat("threads", [alone.table("threads"), threads]),
        "processes": build.concat("processes", [alone.table("processes"), processes]),
    }
    return Recording(replace(alone.meta), tables)


@pytest.mark.parametrize(("making", "workers"), [(0.9, 3), (0.05, 0)])
def test_more_workers_are_advised_only_where_they_are_what_is_slow(making: float, workers: int) -> None:
    report = judge(with_workers(making), (loader_stall.RULE,))
    assert report.failed == {}
    card = report.insights[0]
    assert card.experiment is not None
    assert card.experiment.arguments["num_workers"] >= workers
    assert (card.experiment.arguments["num_workers"] == 0) is (workers == 0)
    assert card.saving is not None
    assert card.saving.high_ms < 10


def test_nothing_is_said_where_making_a_batch_takes_as_long_as_waiting_for_it() -> None:
    assert judge(with_workers(0.2), (loader_stall.RULE,)).insights == ()
