"""Figures that HTA's own tests assert on traces that we hold, read by the native reader.

Times are compared exactly: HTA prints µs, rounded to two digits where said.
"""

from __future__ import annotations

import numpy as np
import pytest

from sonde.importers import kineto
from sonde.store.recording import Recording
from tests.oracle.traces import trace


def read(name: str) -> Recording:
    return kineto.read(trace(f"hta/{name}"))


def test_ns_resolution_events_annotations_and_the_stack_above_a_copy() -> None:
    recording = read("ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz")
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    steps = np.sort(
        ops.array("start_ns")[ops.text("name").where("ProfilerStep" in v for v in ops.text("name").values)]
    )
    assert len(steps) == 5
    # HTA leaves out what the last step launched.
    launched = launches.array("correlation")[launches.array("start_ns") < steps[-1]]
    work = ~kernels.text("kind").equals("annotation")
    seen = work & np.isin(kernels.array("correlation"), launched)
    assert int(seen.sum()) == 4876

    # HTA finds 27 kernels under its 3 optimizer annotations on the device: 9 each, in every step that has one.
    start, end = kernels.array("start_ns"), kernels.array("end_ns")
    drawn = np.flatnonzero(kernels.text("name").equals("Optimizer.step#SGD.step") & ~work)
    under = [int((work & (start >= start[i]) & (end <= end[i])).sum()) for i in drawn]
    assert under == [9] * 5

    (row,) = np.flatnonzero(launches.array("correlation") == 135139)
    above, at = [], int(launches.array("op")[row])
    while at >= 0:
        above.append(ops.text("name")[at])
        at = int(ops.array("parent")[at])
    assert above == ["aten::copy_", "DistributedDataParallel.forward", "## forward ##", "ProfilerStep#101"]


@pytest.mark.slow
def test_mtia_launch_and_kernel_of_one_correlation() -> None:
    recording = read("mtia_trace_single_rank/mtia_rank_0.json.gz")
    kernels, launches = recording.table("kernels"), recording.table("launches")
    lengths = [
        int((t.array("end_ns") - t.array("start_ns"))[t.array("correlation") == 423].item())
        for t in (launches, kernels)
    ]
    assert [round(n / 1000, 2) for n in lengths] == [435.2, 124.77]
    (row,) = np.flatnonzero(kernels.array("correlation") == 423)
    (call,) = np.flatnonzero(launches.array("correlation") == 423)
    # HTA says delay 0: the work begins before its call has ended, and HTA clips what is negative.
    assert int(kernels.array("start_ns")[row]) < int(launches.array("end_ns")[call])


def test_triton_example_starts_at_the_nanosecond_of_the_epoch() -> None:
    recording = read("triton_example/triton_example.json.gz")
    tables = [recording.table(n) for n in ("ops", "launches", "kernels")]
    first = min(int(t.array("start_ns").min()) for t in tables if len(t))
    assert first == 1727743122000000000 + 2413669096090100


def test_cupti_ranges_are_all_there() -> None:
    kernels = read("cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz").table("kernels")
    assert len(kernels) == 77


def test_integers_beyond_64_bits_lose_no_event() -> None:
    recording = read("_history/large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz")
    assert len(recording.table("ops")) + len(recording.table("kernels")) == 2
