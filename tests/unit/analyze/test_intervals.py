"""Interval arithmetic against sets of single nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.base.intervals import Spans, both, complement, depth, intersect, subtract, union, window

stretches = st.lists(st.tuples(st.integers(-20, 60), st.integers(-3, 25)), max_size=25)


def spans(pairs: list[tuple[int, int]]) -> Spans:
    return union([s for s, _ in pairs], [s + d for s, d in pairs])


def moments(pairs: list[tuple[int, int]]) -> set[int]:
    return {t for s, d in pairs for t in range(s, s + d)}


def covered(a: Spans) -> set[int]:
    assert (a.starts < a.ends).all()
    assert (a.ends[:-1] < a.starts[1:]).all() or (a.ends[:-1] <= a.starts[1:]).all()
    return {t for s, e in zip(a.starts.tolist(), a.ends.tolist(), strict=True) for t in range(s, e)}


@given(stretches)
def test_union_covers_each_moment_once(pairs: list[tuple[int, int]]) -> None:
    got = spans(pairs)
    assert covered(got) == moments(pairs)
    assert got.total_ns == len(moments(pairs))
    assert (got.ends[:-1] < got.starts[1:]).all()


@given(stretches, stretches)
def test_two_sets_combine_like_sets_of_moments(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    one, two, x, y = spans(a), spans(b), moments(a), moments(b)
    assert covered(intersect(one, two)) == x & y
    assert covered(subtract(one, two)) == x - y
    assert covered(both(one, two)) == x | y


@given(stretches, st.integers(-30, 90), st.integers(0, 40))
def test_complement_is_the_rest_of_the_window(pairs: list[tuple[int, int]], start: int, size: int) -> None:
    got = complement(spans(pairs), start, start + size)
    assert covered(got) == set(range(start, start + size)) - moments(pairs)


@given(stretches, st.lists(st.tuples(st.integers(-30, 90), st.integers(0, 40)), max_size=6))
def test_within_counts_the_covered_part_of_each_window(
    pairs: list[tuple[int, int]], windows: list[tuple[int, int]]
) -> None:
    got = spans(pairs).within([s for s, _ in windows], [s + d for s, d in windows])
    assert got.tolist() == [len(moments(pairs) & set(range(s, s + d))) for s, d in windows]


@given(st.lists(st.tuples(st.integers(-20, 60), st.integers(0, 25)), max_size=25))
def test_depth_counts_open_stretches(pairs: list[tuple[int, int]]) -> None:
    times, level = depth([s for s, _ in pairs], [s + d for s, d in pairs])
    assert len(set(times.tolist())) == len(times)
    for t, n in zip(times.tolist(), level.tolist(), strict=True):
        assert n == sum(s <= t < s + d for s, d in pairs)


def test_a_backward_window_is_empty() -> None:
    assert len(window(5, 3)) == 0
    assert union(np.array([1, 5]), np.array([5, 6])).starts.tolist() == [1]
