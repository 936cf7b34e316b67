"""CPU time after a thread's last sample goes where its last samples were, flagged, and no time is made or lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.ingest.agent import assemble
from sonde.ingest.agent import log as raw
from sonde.ingest.agent.remainder import NEIGHBOURS, with_remainders_spread
from tests.unit.ingest.logs import LogBuilder

MS = 1_000_000


def spread(log: LogBuilder) -> raw.RawSamples:
    built = log.build()
    built = replace(built, header=replace(built.header, rate_hz=100.0))
    return with_remainders_spread(built, built.samples)


def test_it_is_shared_by_the_weights_of_the_threads_samples() -> None:
    log = LogBuilder()
    work, rest = log.native("main", "work"), log.native("main", "rest")
    for time_ns, node, weight in ((1, work, 10), (2, rest, 20), (3, work, 10)):
        log.sample(time_ns=time_ns, native=node, weight_ns=weight * MS)
    log.sample(time_ns=9, weight_ns=8 * MS + 1, walk_end=raw.WALK_RESIDUAL)
    found = spread(log)
    added = found.walk_end == raw.WALK_RESIDUAL
    assert found.weight_ns.sum() == 48 * MS + 1
    assert found.native[added].tolist() == [work, rest, work]
    assert np.abs(found.weight_ns[added] - np.array([2, 4, 2]) * MS).max() <= 1
    assert set(found.time_ns[added].tolist()) == {9}


def test_only_own_and_only_the_last_samples_count() -> None:
    log = LogBuilder()
    old, new, other = (log.native("main", name) for name in ("old", "new", "other"))
    for time_ns in range(100):
        log.sample(time_ns=time_ns, native=old if time_ns < 50 else new, weight_ns=10 * MS)
        log.sample(time_ns=time_ns, native=other, thread=1, weight_ns=10 * MS)
    log.sample(time_ns=200, weight_ns=5 * MS, walk_end=raw.WALK_RESIDUAL)
    found = spread(log)
    added = found.walk_end == raw.WALK_RESIDUAL
    assert set(found.native[added].tolist()) == {new}
    assert int(added.sum()) == NEIGHBOURS


def test_a_thread_without_samples_and_a_long_gap_keep_their_label() -> None:
    log = LogBuilder(threads=[(0, 100, 1, "main", 0), (1, 101, 0, "too short", 0)])
    log.sample(time_ns=1, native=log.native("main"), weight_ns=10 * MS)
    log.sample(time_ns=5, weight_ns=3000 * MS, walk_end=raw.WALK_RESIDUAL)  # ticks stopped: who knows why
    log.sample(time_ns=6, thread=1, weight_ns=2 * MS, walk_end=raw.WALK_RESIDUAL)
    samples = log.build().samples
    assert spread(log).native.tolist() == samples.native.tolist()


def test_the_agents_own_thread_has_a_label_of_its_own() -> None:
    kinds = raw.THREAD_KINDS
    log = LogBuilder(
        threads=[(0, 100, 1, "main", 0), (1, 101, kinds.index("agent"), "sonde", 0)],
    )
    log.sample(time_ns=1, native=log.native("main"), weight_ns=10 * MS)
    log.sample(time_ns=2, thread=1, weight_ns=MS, walk_end=raw.WALK_RESIDUAL)
    tables = assemble([log.build()], log.names())
    frame = tables["stacks"].array("frame")[tables["samples"].array("stack")]
    names = [tables["frames"].text("name")[i] for i in frame.tolist()]
    assert names == ["main", "Sonde's own thread"]
