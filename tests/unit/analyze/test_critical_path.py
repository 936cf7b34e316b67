"""The critical path on timelines whose path is known."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.analyze.device.critical_path import BOUNDS, CriticalPath, critical_path
from sonde.analyze.device.events import device_work
from sonde.columns import Table
from tests.unit.analyze.synthetic import kernels, launches


def walk(table: Table, calls: Table, start: int, end: int) -> CriticalPath:
    return critical_path(device_work(table, calls), calls, start * 1000, end * 1000)


def parts(path: CriticalPath) -> list[tuple[str, float]]:
    return [(s.bound, s.length_ns / 1000) for s in path.stretches]


def test_a_host_that_launches_slowly_bounds_everything() -> None:
    calls = launches({"start": 10, "end": 12}, {"start": 50, "end": 52})
    table = kernels({"start": 15, "end": 20, "launch": 0}, {"start": 55, "end": 60, "launch": 1})
    assert parts(walk(table, calls, 0, 60)) == [("cpu", 50), ("launch", 5), ("compute", 5)]


def test_queued_kernels_bound_by_the_device() -> None:
    calls = launches({"start": 1, "end": 2}, {"start": 2, "end": 3}, {"start": 3, "end": 4})
    table = kernels(
        {"start": 5, "end": 20, "launch": 0},
        {"start": 22, "end": 40, "launch": 1, "name": "ncclDevKernel_AllReduce"},
        {"start": 40, "end": 50, "launch": 2, "name": "Memcpy DtoH (Device -> Pageable)", "kind": "memcpy"},
    )
    assert parts(walk(table, calls, 0, 50)) == [
        ("cpu", 1),
        ("launch", 4),
        ("compute", 15),
        ("kernel_gap", 2),
        ("communication", 18),
        ("copy", 10),
    ]


def test_a_wait_of_the_host_leads_to_the_event_it_waited_for() -> None:
    calls = launches(
        {"start": 1, "end": 2},
        {"start": 2, "end": 31, "name": "cudaDeviceSynchronize", "kind": "sync"},
        {"start": 35, "end": 36},
    )
    table = kernels({"start": 4, "end": 30, "launch": 0}, {"start": 38, "end": 40, "launch": 2})
    assert parts(walk(table, calls, 0, 50)) == [
        ("cpu", 1),
        ("launch", 3),
        ("compute", 26),
        ("sync", 1),
        ("cpu", 19),  # the window ends on the host: the second kernel is off the path
    ]


def test_a_stream_that_waits_for_another_is_seen_through() -> None:
    calls = launches({"start": 0, "end": 1}, {"start": 1, "end": 2})
    table = kernels(
        {"start": 2, "end": 80, "launch": 0, "stream": 7},
        {"start": 0, "end": 1, "stream": 9},
        {"start": 81, "end": 90, "launch": 1, "stream": 9, "name": "ncclDevKernel_AllReduce"},
    )
    path = walk(table, calls, 0, 90)
    assert parts(path)[-3:] == [("compute", 78), ("dependency", 1), ("communication", 9)]
    assert path.inferred == 1


def test_an_event_of_no_length_that_seems_launched_after_it_ran_ends_the_walk() -> None:
    """The wait ends at the event, the event leads back to the host at the same moment: a circle once."""
    calls = launches(
        {"start": 79, "end": 85}, {"start": 23, "end": 27, "name": "cudaDeviceSynchronize", "kind": "sync"}
    )
    path = walk(kernels({"start": 27, "end": 27, "launch": 0, "stream": 1}), calls, 0, 100)
    assert sum(path.by_bound_ns.values()) == 100_000


times = st.integers(0, 80)
events = st.lists(
    st.tuples(times, st.integers(0, 20), times, st.integers(0, 9), st.integers(0, 2)), max_size=12
)


@settings(max_examples=150)
@given(events, st.lists(st.tuples(times, st.integers(0, 30)), max_size=4))
def test_the_stretches_cover_the_window_exactly(
    rows: list[tuple[int, int, int, int, int]], waits: list[tuple[int, int]]
) -> None:
    """Whatever the trace, skewed clocks and overlaps included."""
    calls = launches(
        *({"start": launch, "end": launch + length} for _, _, launch, length, _ in rows),
        *({"start": s, "end": s + d, "name": "cudaDeviceSynchronize", "kind": "sync"} for s, d in waits),
    )
    table = kernels(
        *({"start": s, "end": s + d, "launch": i, "stream": q} for i, (s, d, _, _, q) in enumerate(rows))
    )
    path = walk(table, calls, 0, 100)
    assert sum(path.by_bound_ns.values()) == 100_000
    assert {s.bound for s in path.stretches} <= set(BOUNDS)
    edges = [0, *(s.end_ns for s in path.stretches)]
    assert [s.start_ns for s in path.stretches] == edges[:-1]
    assert edges[-1] == 100_000
