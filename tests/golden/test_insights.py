"""Insights on real traces: what their makers say of them, and an independent reading of idle time.

The makers' words: kineto's own pair of ResNet-50 runs differs in `num_workers` only (0 and 4), and the
plugin's expected file gives both step times, so the promised saving of the first can be held against the second.
Small models on large GPUs (TraceLens) and single operators (ao, HTA's simple_add) are known to be bound by overhead,
the eight ranks of Megatron by communication with one rank late.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sonde.importers import open_any
from sonde.insights.engine import Report, judge
from tests.oracle.traces import trace

NW0, NW4 = "kineto_tb/resnet50_nw0_a.json.gz", "kineto_tb/resnet50_nw4_a.json.gz"
BOUND = {
    NW0: "input-bound",
    NW4: "compute-bound",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz": "overhead-bound",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz": "overhead-bound",
    "ao/trace.json.gz": "overhead-bound",
    "ao/amg_example_trace.json.gz": "compute-bound",
    "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz": "overhead-bound",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": "memory-bound",
}
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")


def report(name: str) -> Report:
    found = judge(open_any(trace(name)))
    assert found.failed == {}
    return found


def idle_share(path: Path) -> float:
    """Idle time of the device between its first and last event: sorted stretches and a running end."""
    plain = path.read_bytes()
    document: Any = json.loads(gzip.decompress(plain) if path.suffix == ".gz" else plain)
    events = document["traceEvents"] if isinstance(document, dict) else document
    work = sorted(
        (float(e["ts"]), float(e["ts"]) + float(e.get("dur", 0)))
        for e in events
        if e.get("ph") == "X" and str(e.get("cat", "")).lower() in DEVICE_WORK
    )
    idle, reach = 0.0, work[0][0]
    for start, end in work:
        idle += max(start - reach, 0.0)
        reach = max(reach, end)
    return idle / (reach - work[0][0])


@pytest.mark.parametrize("name", BOUND)
def test_the_verdict_is_the_makers_and_idle_time_is_read_alike(name: str) -> None:
    found = report(name)
    assert found.bound is not None
    assert found.bound.word == BOUND[name]
    shares = found.bound.shares
    assert shares["input"] + shares["overhead"] == pytest.approx(idle_share(trace(name)), abs=0.005)


def test_the_promise_of_more_workers_is_what_more_workers_brought() -> None:
    before = report(NW0)
    assert before.insights[0].rule == "gpu_input"
    saving = before.insights[0].saving
    assert saving is not None
    # Mean steps of the plugin's expected file: 177 592 µs with no worker, 141 068 µs with four.
    assert saving.low_ms <= 177.592 - 141.068 <= saving.high_ms
    assert "gpu_input" not in [i.rule for i in report(NW4).insights]


def test_a_late_rank_is_named() -> None:
    found = report("multirank/megatron_tp8")
    assert found.bound is not None
    assert found.bound.word == "communication-bound"
    assert found.insights[0].rule == "straggler"
    assert found.insights[0].title.startswith("Rank 0 ")


def test_a_device_that_never_rests_is_told_nothing() -> None:
    assert report("ao/amg_example_trace.json.gz").insights == ()
