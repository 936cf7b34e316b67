"""Insights on real traces: what their makers say of them, and an independent reading of idle time.

Every trace of the manifest with device events (the small ones; all with SONDE_ALL_TRACES=1) is judged by every
rule; its idle time is held against a plain reading of each device's events, its communication and steps
against what the manifest says. The makers' words on some: kineto's own pair of ResNet-50 runs differs in
`num_workers` only (0 and 4), and the plugin's expected file gives both step times, so the promised saving of the
first can be held against the second. Small models on large GPUs (TraceLens) and single operators (ao, HTA's
simple_add) are known to be bound by overhead, the eight ranks of Megatron by communication with one rank late.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from sonde.ingest import open_any
from sonde.insights.engine import Report, judge
from sonde.insights.subject import Subject
from tests.environments import data_folder
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
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": "kernel-bound",
}
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")


def report(name: str) -> Report:
    found = judge(open_any(trace(name)))
    assert found.failed == {}
    return found


def device_work(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Sorted stretches of work of each device, in µs."""
    plain = path.read_bytes()
    document: Any = json.loads(gzip.decompress(plain) if path.suffix == ".gz" else plain)
    events = document["traceEvents"] if isinstance(document, dict) else document
    work: dict[str, list[tuple[float, float]]] = {}
    for e in events:
        if e.get("ph") == "X" and str(e.get("cat", "")).lower() in DEVICE_WORK:
            device = str((e.get("args") or {}).get("device", e.get("pid")))
            work.setdefault(device, []).append((float(e["ts"]), float(e["ts"]) + float(e.get("dur", 0))))
    return {device: sorted(stretches) for device, stretches in work.items()}


def idle_share(work: list[tuple[float, float]]) -> float:
    """Idle time of a device between its first and last event: sorted stretches and a running end."""
    idle, reach = 0.0, work[0][0]
    for start, end in work:
        idle += max(start - reach, 0.0)
        reach = max(reach, end)
    return idle / (reach - work[0][0]) if reach > work[0][0] else 0.0


@pytest.mark.parametrize("name", BOUND)
def test_the_verdict_is_the_makers_and_idle_time_is_read_alike(name: str) -> None:
    found = report(name)
    assert found.bound is not None
    assert found.bound.word == BOUND[name]
    shares = found.bound.shares
    assert shares["input"] + shares["overhead"] == pytest.approx(
        idle_share(*device_work(trace(name)).values()), abs=0.005
    )


MOST_MB = 6.0


@lru_cache(maxsize=1)
def manifest() -> dict[str, str]:
    """Traces with device events, and what the manifest says of each."""
    folder = data_folder()
    if folder is None or not (folder / "traces" / "MANIFEST.tsv").exists():
        return {}
    with (folder / "traces" / "MANIFEST.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    largest = float("inf") if os.environ.get("SONDE_ALL_TRACES") else MOST_MB
    return {
        row["file"]: row["features"] or ""
        for row in rows
        if float(row["MB_json"] or "inf") <= largest
        and re.search(r"\b[1-9]\d* kernels,", row["features"] or "")
        and "malformed" not in row["file"]
    }


@pytest.mark.parametrize("name", sorted(manifest()))
def test_every_trace_is_read_as_the_manifest_says(name: str) -> None:
    told = manifest()[name]
    path = trace(name)
    recording = open_any(path)
    report = judge(recording)
    assert report.failed == {}
    subject = Subject(recording)
    read = [d for rank in subject.gpu.ranks for d in rank.devices if d.time.window_ns > 0]
    idle = sorted(d.time.idle_ns / d.time.window_ns for d in read)
    plain = sorted(idle_share(w) for w in device_work(path).values() if w[-1][1] > w[0][0])
    assert idle == pytest.approx(plain, abs=0.005)
    communicates = any(d.time.communication_ns > 0 for d in read)
    assert communicates == ("nccl kernels" in told)
    steps = re.search(r"(\d+) steps", told)
    if steps:
        assert max(rank.steps.count for rank in subject.gpu.ranks) == int(steps.group(1))
    # A device that rests for most of the time is never called bound by its own work, and the reverse.
    assert report.bound is not None
    shares = report.bound.shares
    if shares["input"] + shares["overhead"] > 0.5:
        assert report.bound.word in ("input-bound", "overhead-bound")
    elif shares["input"] + shares["overhead"] < 0.1:
        assert report.bound.word not in ("input-bound", "overhead-bound")


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
