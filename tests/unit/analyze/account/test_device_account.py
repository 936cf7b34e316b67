"""The account of a device: events and gaps sum to its window, by line and by cause."""

from __future__ import annotations

import pytest

from sonde.analyze.account.device import device_account
from sonde.analyze.device.events import device_work
from sonde.analyze.device.idle import idle_splits
from sonde.analyze.device.verdict import bound, without_edges
from sonde.insights.account import account
from sonde.insights.subject import Subject
from sonde.store import build
from tests.fixtures.device_run import device_run

US = 1000


def test_the_account_of_a_device_sums_to_its_window() -> None:
    found = account(Subject(device_run(steps=8)))
    assert sum(s.ns for s in found.slices) == pytest.approx(found.whole_ns, rel=1e-6)
    assert {"arithmetic", "communication"} <= set(found.kinds())


def trace(starts_us: list[int], ends_us: list[int], launched_us: list[int]):  # type: ignore[no-untyped-def]
    count = len(starts_us)
    kernels = build.table(
        "kernels",
        kernel=list(range(count)),
        process=[0] * count,
        device=[0] * count,
        stream=[7] * count,
        start_ns=[t * US for t in starts_us],
        end_ns=[t * US for t in ends_us],
        name=["gemm_128x128"] * count,
        kind=["kernel"] * count,
        launch=list(range(count)),
        op=[-1] * count,
    )
    launches = build.table(
        "launches",
        launch=list(range(count)),
        thread=[0] * count,
        start_ns=[t * US for t in launched_us],
        end_ns=[(t + 1) * US for t in launched_us],
        name=["cudaLaunchKernel"] * count,
        kind=["launch"] * count,
    )
    return kernels, launches


def test_a_long_gap_at_the_start_is_set_apart_from_those_of_every_step() -> None:
    """One kernel, then 463 ms of nothing, then 100 kernels of 90 us with gaps of 10 us that the host makes."""
    starts = [0, *(463_000 + 100 * n for n in range(100))]
    kernels, launches = trace(starts, [s + 90 for s in starts], [s - 5 for s in starts])
    found = device_account(kernels, launches, build.empty("ops"), "trace", 1)
    time = {s.kind: s.ns / US for s in found.slices}
    assert time["unseen"] == pytest.approx(462_910)
    assert time["dispatch"] == pytest.approx(99 * 10)
    assert time["arithmetic"] == pytest.approx(101 * 90)
    (split,) = [s for s in idle_splits(device_work(kernels, launches), launches) if s.stream is None]
    assert split.edge_ns == 462_910 * US
    assert split.host_ns - split.edge_ns == 99 * 10 * US
    shares = {"compute": 9.09, "communication": 0.0, "copy": 0.0, "input": 0.0, "overhead": 463.9}
    shares = {name: ms / sum(shares.values()) for name, ms in shares.items()}
    assert bound(shares, 1.0) == "overhead-bound"
    assert bound(without_edges(shares, split, 472_990 * US), 1.0) == "compute-bound"
