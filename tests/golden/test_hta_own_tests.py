"""Figures that HTA's own tests assert on traces that we hold, read by the native reader.

Times are compared exactly: HTA prints µs, rounded to two digits where said.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sonde.analyze.device.critical_path import critical_path
from sonde.analyze.device.events import device_work
from sonde.ingest.kineto import reader as kineto
from sonde.store.recording import Recording
from tests.golden.test_hta import hta_class, hta_union_ns, hta_view, rounded
from tests.oracle.traces import plain, trace


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


@pytest.mark.slow
def test_mtia_launches_of_aten_mul() -> None:
    """HTA: `aten::mul` 822 times with one kernel, on average 1092.5 µs to the launch and 293.1 µs to the device."""
    recording = read("mtia_trace_single_rank/mtia_rank_0.json.gz")
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    parent, names, launched_by = ops.array("parent").tolist(), ops.text("name").tolist(), {}
    for kernel, launch in enumerate(kernels.array("launch").tolist()):
        at = int(launches.array("op")[launch]) if launch >= 0 else -1
        while at >= 0 and not str(names[at]).startswith("aten::"):
            at = parent[at]
        if at >= 0 and names[at] == "aten::mul":
            launched_by.setdefault(at, []).append((launch, kernel))
    device = kernels.text("name").tolist()
    wanted = "customized_fba_mul_const-dtype_Float"
    calls = [(op, *rows[0]) for op, rows in launched_by.items() if [device[k] for _, k in rows] == [wanted]]
    assert len(calls) == 822
    op, launch, kernel = (np.array(column) for column in zip(*calls, strict=True))
    called = launches.array("start_ns")[launch]
    to_launch = (called - ops.array("start_ns")[op]).mean() / 1000
    to_device = (kernels.array("start_ns")[kernel] - called).mean() / 1000
    assert to_launch == pytest.approx(1092.5, abs=0.06)  # HTA rounds each moment to a µs before the mean
    assert round(to_device, 1) == 293.1


@pytest.mark.slow
def test_mtia_time_by_class_with_the_copies_that_name_no_stream() -> None:
    """HTA's own test: idle 5 648 827, compute 7 305 596, other 373 924 of 13 328 347 µs.

    HTA 0.5.0 drops 137 dma_requests without a stream (its figures of today are in test_hta.py); its test was
    written when it kept those after the first kernel. The window is then equal; of the 25,812 events that it
    rounds to whole µs a few fall the other way, which makes 6 µs in 13 s.
    """
    recording = plain("hta/mtia_trace_single_rank/mtia_rank_0.json.gz")
    whole, seen = recording.table("kernels"), hta_view(recording)[0]
    base = int(recording.meta.details["baseTimeNanoseconds"])
    events = rounded(whole, base)
    events = events.take(np.flatnonzero(events.array("start_ns") >= seen.array("start_ns").min()))
    start, end = events.array("start_ns"), events.array("end_ns")
    compute = np.array([hta_class(v) == "computation" for v in events.text("name").values])
    mine = compute[events.text("name").codes]
    busy, computing = hta_union_ns(start, end), hta_union_ns(start[mine], end[mine])
    window = int(end.max() - start.min())
    assert window == 13_328_347_000
    figures = [(window - busy) / 1000, computing / 1000, (busy - computing) / 1000]
    assert figures == pytest.approx([5_648_827, 7_305_596, 373_924], abs=6)


def test_simple_add_edges_around_relu_and_a_path_that_never_waits() -> None:
    """HTA's graph of the second measured forward: relu_ 15 and 32 µs around clamp_min_ (14 and 15 around a
    launch of 17), a launch delay of 27, 7 between two kernels; 159 events in a path of 315 nodes and 314 edges.
    """
    recording = read("critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz")
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    name = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"
    forward = int(np.flatnonzero(ops.text("name").equals(name))[1])
    low, high = (int(ops.array(c)[forward]) for c in ("start_ns", "end_ns"))
    begin, stop = ops.array("start_ns"), ops.array("end_ns")
    called, returned = launches.array("start_ns"), launches.array("end_ns")
    inside = (begin >= low) & (stop <= high)
    relu = int(np.flatnonzero(ops.text("name").equals("aten::relu_") & inside)[0])
    (clamp,) = np.flatnonzero(ops.array("parent") == relu)
    (launch,) = np.flatnonzero(launches.array("op") == clamp)
    edges = np.diff([begin[relu], begin[clamp], called[launch], returned[launch], stop[clamp], stop[relu]])
    assert (edges // 1000).tolist() == [15, 14, 17, 15, 32]

    own = np.flatnonzero((called >= low) & (returned <= high))
    real = kernels.text("kind").equals("kernel") & np.isin(kernels.array("launch"), own)
    begun, ended = kernels.array("start_ns")[real], kernels.array("end_ns")[real]
    assert 27_000 in (begun - called[kernels.array("launch")[real]]).tolist()
    order = np.argsort(begun)
    assert 7_000 in (begun[order][1:] - ended[order][:-1]).tolist()

    # HTA leads its path over 508 µs of kernels by way of the last cudaDeviceSynchronize. Nothing waited there:
    # the device had been idle for 235 µs when the host called it, so the host alone decides these 243 ms.
    (last,) = own[launches.text("name").equals("cudaDeviceSynchronize")[own]][-1:]
    assert called[last] - ended.max() == 235_000
    path = critical_path(device_work(kernels, launches), launches, low, high)
    assert path.by_bound_ns["cpu"] == high - low == 243_351_000


def test_trace_compare_names_what_was_added_and_taken_away() -> None:
    """HTA on rank 1, step 1010: of CPU calls 5 names as often, 3 more often, 1 less; one kernel less."""
    calls, kernels = [], []
    for side in ("base", "test"):
        recording = read(f"trace_compare/{side}/{side}.json.gz")
        ops = recording.table("ops")
        (step,) = np.flatnonzero(ops.text("name").equals("ProfilerStep#1010"))
        low, high = int(ops.array("start_ns")[step]), int(ops.array("end_ns")[step])
        names: Counter[str | None] = Counter()
        for table in (ops, recording.table("launches")):
            inside = (table.array("start_ns") >= low) & (table.array("start_ns") <= high)
            names.update(table.take(inside).text("name").tolist())
        calls.append(names)
        kernels.append(Counter(recording.table("kernels").text("name").tolist()))
    base, test = calls
    assert set(test - base) == {"AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"}
    assert set(base - test) == {"nccl:all_reduce"}
    assert sum(base[name] == count for name, count in test.items()) == 5
    assert sum((kernels[0] - kernels[1]).values()) == 1
    assert not kernels[1] - kernels[0]


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
