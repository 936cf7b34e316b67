"""Nesting of calls, and which call a sample fell into, against a slow reference."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.analyze.base.nesting import depths, parents, skip, sum_children, sum_up
from sonde.analyze.samples.operators_on_stack import stack_operators
from sonde.columns import Text
from sonde.link.samples import sample_ops, sample_steps
from sonde.store import build


def test_parents_on_two_threads() -> None:
    thread = np.array([0, 0, 0, 1, 0])
    start = np.array([0, 10, 12, 10, 30])
    end = np.array([100, 20, 15, 20, 40])
    assert parents(thread, start, end).tolist() == [-1, 0, 1, -1, 0]


def test_a_call_that_sticks_out_of_another_is_apart_from_it() -> None:
    assert parents(np.zeros(2), np.array([0, 5]), np.array([10, 15])).tolist() == [-1, -1]


def test_sums_over_the_tree() -> None:
    parent = np.array([-1, 0, 1, 0])
    values = np.array([1, 10, 100, 1000])
    assert depths(parent).tolist() == [0, 1, 2, 1]
    assert sum_children(parent, values).tolist() == [1010, 100, 0, 0]
    assert sum_up(parent, values).tolist() == [1111, 110, 100, 1000]
    assert skip(parent, np.array([True, False, True, True])).tolist() == [-1, 0, 0, 0]


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Properly nested stretches, with shared boundaries and empty ones."""
    spans: list[tuple[int, int]] = []

    def fill(low: int, high: int, depth: int) -> None:
        at = low
        while at < high and len(spans) < 40:
            start = draw(st.integers(at, high))
            end = draw(st.integers(start, high))
            spans.append((start, end))
            if depth < 4 and end > start and draw(st.booleans()):
                fill(start, end, depth + 1)
            at = end + draw(st.integers(0, 3)) + (end == start)

    fill(0, draw(st.integers(1, 60)), 0)
    return spans


@settings(max_examples=200, deadline=None)
@given(trees())
def test_the_join_finds_the_innermost_call(spans: list[tuple[int, int]]) -> None:
    start = np.array([s for s, _ in spans], np.int64)
    end = np.array([e for _, e in spans], np.int64)
    thread = np.zeros(len(spans), np.int32)
    parent = parents(thread, start, end)
    ops = build.table(
        "ops",
        op=np.arange(len(spans)) + 100,
        thread=thread,
        start_ns=start,
        end_ns=end,
        parent=np.where(parent >= 0, parent + 100, -1),
        kind=["op"] * len(spans),
    )
    times = np.arange(-1, 62)
    samples = build.table(
        "samples",
        time_ns=times,
        thread=np.zeros(len(times), np.int32),
        owner=np.full(len(times), -1, np.int32),
    )
    found = sample_ops(samples, ops)
    for time, op in zip(times.tolist(), found.tolist(), strict=True):
        around = [i for i, (s, e) in enumerate(spans) if s <= time < e]
        if not around:
            assert op == -1
        else:
            shortest = min(spans[i][1] - spans[i][0] for i in around)
            assert op >= 100
            assert spans[op - 100] in [spans[i] for i in around]
            assert spans[op - 100][1] - spans[op - 100][0] == shortest


def test_a_pool_workers_sample_belongs_to_its_owners_op() -> None:
    ops = build.table("ops", op=[5], thread=[1], start_ns=[10], end_ns=[20], parent=[-1], kind=["op"])
    samples = build.table("samples", time_ns=[15, 15, 15], thread=[1, 2, 2], owner=[-1, 1, -1])
    assert sample_ops(samples, ops).tolist() == [5, 5, -1]


def test_samples_find_their_step() -> None:
    marks = build.table(
        "marks",
        mark=[7, 8, 9],
        process=[0, 0, 1],
        kind=["step", "step", "step"],
        start_ns=[0, 10, 0],
        end_ns=[10, 20, 100],
    )
    threads = build.table("threads", thread=[0, 1], process=[0, 1])
    samples = build.table("samples", time_ns=[5, 10, 20, 50], thread=[0, 0, 0, 1])
    assert sample_steps(samples, marks, threads).tolist() == [7, 8, -1, 9]


def test_the_stack_decides_between_neighbours_where_the_profilers_stamps_are_late() -> None:
    # linear 0..100 { addmm 20..60 }: the frame of addmm is there from 15 to 65
    ops = build.table(
        "ops",
        op=[0, 1],
        thread=[0, 0],
        start_ns=[0, 20],
        end_ns=[100, 60],
        parent=[-1, 0],
        name=["linear", "addmm"],
        kind=["op", "op"],
    )
    samples = build.table(
        "samples", time_ns=[15, 30, 65, 90, 15, 200], thread=[0] * 6, owner=[-1] * 6, stack=[0] * 6
    )
    on_stack = Text.of(["addmm", "addmm", "addmm", "linear", "relu", None])
    assert sample_ops(samples, ops, on_stack).tolist() == [1, 1, 1, 0, 0, -1]
    assert sample_ops(samples, ops).tolist() == [0, 1, 0, 0, 0, -1]


def test_the_innermost_operator_on_a_stack() -> None:
    frames = build.table(
        "frames", frame=[0, 1, 2], layer=["python", "op", "native"], name=["main", "aten::mm", "gemm"]
    )
    stacks = build.table(
        "stacks", stack=[5, 6, 7, 8], parent=[-1, 5, 6, 5], frame=[0, 1, 2, 2], depth=[1, 2, 3, 2]
    )
    samples = build.table("samples", time_ns=[0, 0, 0, 0], stack=[7, 6, 5, 8])
    assert stack_operators(samples, stacks, frames).tolist() == ["aten::mm", "aten::mm", None, None]
