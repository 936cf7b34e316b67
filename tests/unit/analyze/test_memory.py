"""Memory: blocks, the peak and what was alive at it, growth with its interval."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sonde.analyze.memory.growth import counter_growth, growth
from sonde.analyze.memory.timeline import OPEN_NS, alive_by, blocks, peaks, running_total
from sonde.columns import Table
from sonde.store import build


def _memory() -> Table:
    # forward 0..100: A (activation, freed in backward), T (temporary); backward 100..200: G (gradient), freed
    # later; address 1 is used again after its free.
    rows = [
        (10, 1, 100, 0),  # A
        (20, 2, 50, 1),  # T
        (30, 2, -50, 1),
        (110, 3, 70, 2),  # G
        (120, 1, -100, 2),
        (130, 1, 30, 2),  # a temporary of the backward pass
        (140, 1, -30, 2),
        (300, 3, -70, -1),
    ]
    return build.table(
        "memory",
        time_ns=[r[0] for r in rows],
        thread=np.zeros(len(rows), np.int32),
        device=["cpu"] * len(rows),
        address=[r[1] for r in rows],
        bytes=[r[2] for r in rows],
        op=[r[3] for r in rows],
    )


def _marks() -> Table:
    tensors = {"parameter": [[900, 64]], "gradient": [[3, 70]], "optimizer_state": [[901, 128]]}
    return build.table(
        "marks",
        mark=[0, 1, 2],
        process=[0, 0, 0],
        thread=[0, 0, 0],
        kind=["phase", "phase", "tensors"],
        name=["forward", "backward", ""],
        start_ns=[0, 100, 250],
        end_ns=[100, 200, 250],
        extra=[None, None, json.dumps(tensors)],
    )


def test_blocks_end_with_the_next_free_at_their_address() -> None:
    found = blocks(_memory())
    assert found.array("bytes").tolist() == [100, 50, 70, 30]
    assert found.array("end_ns").tolist() == [120, 30, 300, 140]


def test_a_block_that_is_never_freed_stays_open() -> None:
    memory = build.table("memory", time_ns=[1], thread=[0], device=["cpu"], address=[5], bytes=[8], op=[-1])
    assert blocks(memory).array("end_ns").tolist() == [OPEN_NS]


def test_the_running_total() -> None:
    times, total = running_total(blocks(_memory()), "cpu")
    assert times.tolist() == [10, 20, 30, 110, 120, 130, 140, 300]
    assert total.tolist() == [100, 150, 100, 170, 70, 100, 70, 0]


def test_the_peak_by_category_and_by_op() -> None:
    (peak,) = peaks(_memory(), _marks())
    assert (peak.device, peak.time_ns, peak.bytes, peak.base_bytes) == ("cpu", 110, 170, 64 + 128)
    assert peak.by_category == {
        "activation": 100,
        "gradient": 70,
        "parameter": 64,
        "optimizer_state": 128,
    }
    ops = build.table(
        "ops",
        op=[0, 1, 2],
        name=["conv", "exp", "conv_backward"],
        module=["a", "b", "a"],
        file=["m.py"] * 3,
        line=[3, 4, 3],
    )
    assert alive_by(peak, ops, "op") == [("conv", 100, 1), ("conv_backward", 70, 1)]
    assert alive_by(peak, ops, "module") == [("a", 170, 2)]
    assert alive_by(peak, ops, "line") == [("m.py:3", 170, 2)]


def test_memory_of_an_empty_tensor_goes_to_the_operator_that_asked_for_it() -> None:
    (peak,) = peaks(_memory(), _marks())
    ops = build.table(
        "ops", op=[7, 0, 2], parent=[-1, 7, -1], name=["layer_norm", "aten::empty", "conv_backward"]
    )
    assert alive_by(peak, ops, "op") == [("layer_norm", 100, 1), ("conv_backward", 70, 1)]


def test_windows_do_not_add_up_and_what_was_there_before_counts() -> None:
    # Two windows, 0..100 and 200..300. In each, a gradient of 40 bytes is alive at the end; nobody sees its free.
    # In the second a free at 230 tells of a block of 25 bytes that was there when it began.
    rows = [(50, 1, 40), (230, 9, -25), (250, 2, 40)]
    time_ns, address, size = zip(*rows, strict=True)
    memory = build.table(
        "memory", time_ns=time_ns, thread=[0] * 3, device=["cpu"] * 3, address=address, bytes=size, op=[3] * 3
    )
    marks = build.table(
        "marks",
        mark=range(4),
        process=[0] * 4,
        kind=["window", "window", "phase", "phase"],
        name=["", "", "zero_grad", "backward"],
        start_ns=[0, 200, 225, 240],
        end_ns=[100, 300, 235, 260],
    )
    found = blocks(memory, marks)
    assert found.array("start_ns").tolist() == [50, 200, 250]
    assert found.array("end_ns").tolist() == [100, 230, 300]
    assert found.array("older").tolist() == [False, True, False]
    (peak,) = peaks(memory, marks)
    assert peak.bytes == 40  # not 80: the first window's gradient was freed unseen
    assert peaks(memory.take(np.array([1])), marks)[0].by_category == {"gradient": 25}


def test_processes_do_not_share_addresses() -> None:
    memory = build.table(
        "memory", time_ns=[1, 2, 3], thread=[0, 1, 0], device=["cpu"] * 3, address=[5] * 3,
        bytes=[8, 16, -8], op=[-1] * 3,
    )  # fmt: skip
    threads = build.table("threads", thread=[0, 1], process=[0, 1])
    marks = build.table("marks", row_count=0)
    assert [(p.process, p.bytes) for p in peaks(memory, marks, threads=threads)] == [(0, 8), (1, 16)]


def test_growth_finds_a_planted_leak_and_none_in_noise() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 5_000, 200)
    leak = growth("leak", noise + 1_000 * np.arange(200))
    assert leak is not None
    assert leak.grows
    assert leak.low_bytes < 1_000 < leak.high_bytes
    assert leak.slope_bytes == pytest.approx(1_000, rel=0.1)
    steady = growth("steady", noise)
    assert steady is not None
    assert not steady.grows
    assert growth("few", np.arange(4)) is None


def test_growth_of_a_counter_takes_the_last_reading_of_each_step() -> None:
    marks = build.table(
        "marks",
        mark=np.arange(10),
        process=np.zeros(10, np.int32),
        kind=["step"] * 10,
        start_ns=np.arange(10) * 100,
        end_ns=np.arange(10) * 100 + 100,
    )
    counters = build.table(
        "counters",
        time_ns=np.arange(10) * 100 + 50,
        process=np.zeros(10, np.int32),
        name=["rss_bytes"] * 10,
        value=np.arange(10) * 7.0,
    )
    found = counter_growth(counters, marks, 0)
    assert found is not None
    assert (found.slope_bytes, found.steps) == (7.0, 8)  # the first quarter does not count
