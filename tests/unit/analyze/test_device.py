"""Device analyses on hand-made timelines with exact numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import depths, sum_up
from sonde.analyze.device.by_op import device_by
from sonde.analyze.device.copies import copy_table
from sonde.analyze.device.events import device_work
from sonde.analyze.device.idle import idle_splits
from sonde.analyze.device.launches import launch_stats, queue_depths, skew
from sonde.analyze.device.memory import device_memory
from sonde.analyze.device.syncs import dead_windows, sync_points
from sonde.analyze.device.time import device_times, stream_times
from sonde.analyze.device.verdict import verdict
from sonde.analyze.steps.trace import trace_steps
from sonde.store import build
from tests.unit.analyze.synthetic import kernels, launches, memory, ops


def test_classes_overlap_and_idle_add_up() -> None:
    table = kernels(
        {"start": 0, "end": 10},
        {"start": 5, "end": 20, "stream": 9, "name": "ncclDevKernel_AllReduce"},
        {"start": 30, "end": 40, "name": "Memcpy HtoD (Pageable -> Device)", "kind": "memcpy"},
        {"start": 0, "end": 90, "name": "region", "kind": "annotation"},
        {"start": 0, "end": 80, "name": "Stream Sync", "kind": "sync"},
    )
    work = device_work(table, launches())
    (time,) = device_times(work, table)
    assert (time.events, time.window_ns, time.busy_ns, time.idle_ns) == (3, 40_000, 30_000, 10_000)
    assert (time.compute_ns, time.communication_ns, time.copy_ns) == (10_000, 15_000, 10_000)
    assert (time.overlap_ns, time.exposed_communication_ns) == (5_000, 10_000)
    assert [s.busy_ns for s in stream_times(work)] == [20_000, 15_000]


def test_sm_efficiency_of_two_streams_counts_the_fullest() -> None:
    table = kernels(
        {"start": 0, "end": 10, "blocks_per_sm": 0.5},
        {"start": 5, "end": 10, "stream": 9, "blocks_per_sm": 4.0},
    )
    (time,) = device_times(device_work(table, launches()), table)
    assert time.sm_efficiency == pytest.approx((5 * 0.5 + 5 * 1.0) / 10)


def test_idle_time_is_split_by_who_was_late() -> None:
    """Kernel 1 was queued (turn-around); 2 launched late after a sync of 4 µs; 3 queued but 40 µs late."""
    calls = launches(
        {"start": 0, "end": 1},
        {"start": 1, "end": 2},
        {"start": 16, "end": 24, "name": "cudaStreamSynchronize", "kind": "sync"},
        {"start": 28, "end": 29},
        {"start": 29, "end": 30},
    )
    table = kernels(
        {"start": 2, "end": 10, "launch": 0},
        {"start": 13, "end": 20, "launch": 1},
        {"start": 30, "end": 35, "launch": 3},
        {"start": 75, "end": 80, "launch": 4},
        {"start": 90, "end": 95},
    )
    split = idle_splits(device_work(table, calls), calls)[-1]
    assert (split.kernel_ns, split.host_ns, split.sync_ns, split.other_ns) == (3_000, 6_000, 4_000, 50_000)


def test_events_inside_longer_ones_open_no_gap() -> None:
    table = kernels({"start": 0, "end": 100}, {"start": 10, "end": 20}, {"start": 50, "end": 60})
    split = idle_splits(device_work(table, launches()), launches())[0]
    assert split.idle_ns == 0


def test_skewed_and_missing_launches_are_counted_and_never_make_a_queue_negative() -> None:
    calls = launches({"start": 10, "end": 12}, {"start": 20, "end": 21})
    table = kernels(
        {"start": 5, "end": 8, "launch": 0}, {"start": 30, "end": 31, "launch": 1}, {"start": 40, "end": 41}
    )
    work = device_work(table, calls)
    found = skew(work)
    assert (found.without_launch, found.before_launch, found.worst_ns) == (1, 1, 5_000)
    (queue,) = queue_depths(work)
    assert (queue.depths.min(), queue.max) == (0, 1)
    assert queue.mean == pytest.approx(10 / 25)


def test_a_graph_launch_counts_its_call_once() -> None:
    calls = launches({"start": 0, "end": 4, "name": "cudaGraphLaunch", "kind": "graph"})
    table = kernels(*({"start": 5 + i, "end": 6 + i, "launch": 0} for i in range(3)))
    (row,) = launch_stats(device_work(table, calls), calls)
    assert (row.events, row.call.count, row.call.total_ns) == (3, 1, 4_000)


def test_a_sync_pays_for_the_gap_that_follows_it() -> None:
    calls = launches(
        {"start": 0, "end": 1},
        {"start": 1, "end": 21, "name": "cudaDeviceSynchronize", "kind": "sync", "op": 0},
        {"start": 22, "end": 22, "name": "cudaStreamWaitEvent", "kind": "sync"},
        {"start": 60, "end": 61},
    )
    table = kernels({"start": 2, "end": 20, "launch": 0}, {"start": 200, "end": 210, "launch": 3})
    work = device_work(table, calls)
    (point,) = sync_points(work, calls, ops({"start": 1, "end": 21, "name": "aten::item"}))
    assert (point.op, point.waited_ns, point.bubble_ns) == ("aten::item", 20_000, 180_000)
    (dead,) = dead_windows(work)
    assert (dead.length_ns, dead.cause) == (180_000, "host")


def test_an_event_at_the_same_name_inside_itself_is_counted_once() -> None:
    table = kernels({"start": 10, "end": 15, "op": 1})
    calls = ops(
        {"start": 0, "end": 9, "name": "aten::to"}, {"start": 1, "end": 8, "name": "aten::to", "parent": 0}
    )
    (row,) = device_by(device_work(table, launches()), calls, calls.text("name"))
    assert (row.calls, row.device_self_ns, row.device_total_ns, row.host_total_ns) == (2, 5_000, 5_000, 9_000)


@given(st.lists(st.integers(-1, 30), max_size=30))
def test_totals_of_a_tree_are_the_sums_of_its_branches(wanted: list[int]) -> None:
    parent = np.array([p if p < i else -1 for i, p in enumerate(wanted)], np.int64)
    own = np.arange(1, len(parent) + 1, dtype=np.int64)
    expected = own.copy()
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            expected[parent[i]] += expected[i]
    assert sum_up(parent, own).tolist() == expected.tolist()
    depth = [0] * len(parent)
    for i, p in enumerate(parent):
        depth[i] = depth[p] + 1 if p >= 0 else 0
    assert depths(parent).tolist() == depth


def test_identities_need_not_be_row_numbers() -> None:
    assert rows_of(np.array([5, 3, 9]), np.array([9, -1, 4, 5])).tolist() == [2, -1, -1, 0]
    assert rows_of(np.empty(0, np.int64), np.array([1])).tolist() == [-1]


def test_copies_are_told_by_direction_and_memory() -> None:
    table = kernels(
        {
            "start": 0,
            "end": 100,
            "name": "Memcpy HtoD (Pageable -> Device)",
            "kind": "memcpy",
            "bytes": 1_000_000,
        },
        {
            "start": 100,
            "end": 110,
            "name": "Memcpy DtoH (Device -> Pinned)",
            "kind": "memcpy",
            "bytes": 200_000,
        },
        {"start": 110, "end": 111, "name": "Memset (Device)", "kind": "memset", "bytes": -1},
    )
    rows = {(r.direction, r.memory): r for r in copy_table(device_work(table, launches()), table)}
    assert rows["HtoD", "pageable"].bandwidth_gbs == pytest.approx(10.0)
    assert rows["DtoH", "pinned"].bandwidth_gbs == pytest.approx(20.0)
    assert rows["set", "device"].bandwidth_gbs is None


def test_peak_memory_names_its_holders() -> None:
    table = memory(
        {"time": 0, "bytes": 100, "address": 1, "allocated": 100, "reserved": 400, "op": 0},
        {"time": 1, "bytes": 200, "address": 2, "allocated": 300, "reserved": 400, "op": 1},
        {"time": 2, "bytes": -100, "address": 1, "allocated": 200, "reserved": 400},
        {"time": 3, "bytes": 50, "address": 1, "allocated": 250, "reserved": 500, "op": 0},
    )
    (use,) = device_memory(
        table, ops({"start": 0, "end": 9, "name": "a"}, {"start": 0, "end": 9, "name": "b"})
    )
    assert (use.peak_bytes, use.peak_ns, use.peak_reserved_bytes) == (300, 1_000, 500)
    assert use.fragmentation == pytest.approx(0.5)
    assert [(h.op, h.bytes) for h in use.holders] == [("b", 200), ("a", 100)]
    assert use.never_freed_bytes == 250


def test_warm_up_is_the_slow_beginning() -> None:
    ends = [0, 500, 600, 701, 800, 901]
    calls = ops(
        *(
            {"start": a, "end": b, "name": f"ProfilerStep#{i}", "kind": "annotation"}
            for i, (a, b) in enumerate(pairwise(ends))
        )
    )
    steps = trace_steps(build.empty("marks"), calls, device_work(kernels(), launches()))
    assert (len(steps), steps.warmup, steps.median_ns) == (5, 1, 100_500)


@pytest.mark.parametrize(
    ("rows", "regions", "expected"),
    [
        ([(0, 10, "gemm"), (90, 100, "gemm")], [], "overhead-bound"),
        ([(0, 10, "gemm"), (90, 100, "gemm")], [(10, 85)], "input-bound"),
        ([(0, 50, "gemm"), (50, 100, "ncclDevKernel_AllReduce")], [], "communication-bound"),
        ([(0, 100, "gemm")], [], "compute-bound"),
        ([(0, 100, "elementwise")], [], "kernel-bound"),
    ],
)
def test_verdicts(rows: list[tuple[int, int, str]], regions: list[tuple[int, int]], expected: str) -> None:
    table = kernels(*({"start": s, "end": e, "name": n} for s, e, n in rows))
    calls = ops(
        *(
            {"start": s, "end": e, "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}
            for s, e in regions
        )
    )
    work = device_work(table, launches())
    (time,) = device_times(work, table)
    found = verdict(work, time, idle_splits(work, launches())[-1], calls)
    assert found.bound == expected
    assert sum(found.shares.values()) == pytest.approx(1.0)
