"""Operator calls on a busy machine: what was taken away is in no Self CPU, and the call it was taken from is marked."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ops.table import op_table
from sonde.analyze.ops.taken import taken_from_calls
from sonde.columns import Table
from sonde.store import build
from tests.unit.analyze.test_taken_away import waits

US, MS = 1000, 1_000_000


def _step() -> Table:
    """A step of 80 ms: forty products of 400 µs, one of which was off the CPU for 20 ms, and one cat of 20 µs that was
    for 40 ms. `outer` holds the first half of the products."""
    lengths = [400 * US] * 40
    lengths[7] += 20 * MS
    ends = np.cumsum(lengths)
    starts = ends - lengths
    cat = int(ends[-1])
    rows = [("outer", 0, int(ends[19]), -1)]
    rows += [
        ("mm", int(s), int(e), 0 if i < 20 else -1) for i, (s, e) in enumerate(zip(starts, ends, strict=True))
    ]
    rows.append(("cat", cat, cat + 40 * MS + 20 * US, -1))
    return build.table(
        "ops",
        op=np.arange(len(rows)),
        thread=np.zeros(len(rows), np.int32),
        start_ns=[r[1] for r in rows],
        end_ns=[r[2] for r in rows],
        parent=[r[3] for r in rows],
        name=[r[0] for r in rows],
        kind=["op"] * len(rows),
    )


def _row(table: Table, name: str) -> dict[str, int]:
    at = table.text("name").tolist().index(name)
    columns = ("self_ns", "self_wall_ns", "total_ns", "total_wall_ns", "preempted")
    return {c: int(table.array(c)[at]) for c in columns}


def test_the_time_is_taken_from_the_calls_that_lasted_longer_than_their_like() -> None:
    ops, looks = _step(), waits([(0, 60)])  # one look of 100 ms, of which the step is 76
    table = op_table(ops, samples=looks)
    plain = op_table(ops)
    assert plain.text("name")[0] == "cat"  # by the clock on the wall it is the heaviest: 52 %
    assert _row(plain, "cat")["self_ns"] == _row(plain, "cat")["self_wall_ns"]
    cat, products, outer = (_row(table, name) for name in ("cat", "mm", "outer"))
    # A fourth of the look lies outside of the step, and nobody knows what was there.
    assert (cat["preempted"], products["preempted"]) == (1, 1)
    assert cat["self_wall_ns"] - cat["self_ns"] == pytest.approx(40 * MS * 60 / 84, rel=0.02)
    assert products["self_wall_ns"] - products["self_ns"] == pytest.approx(20 * MS * 60 / 84, rel=0.02)
    assert outer["total_wall_ns"] - outer["total_ns"] == products["self_wall_ns"] - products["self_ns"]
    assert outer["self_ns"] == outer["self_wall_ns"] == 0


def test_no_more_is_taken_than_was_counted_and_none_without_looks() -> None:
    ops = _step()
    for taken_ms in (5, 60, 95):
        assert 0 < taken_from_calls(ops, waits([(0, taken_ms)])).sum() <= taken_ms * MS
    assert taken_from_calls(ops, waits([(500, 60)])).sum() == 0
    assert taken_from_calls(ops, waits([(0, 60)], "lock")).sum() == 0


def test_where_all_calls_are_alike_all_give_the_same_share() -> None:
    starts = np.arange(10) * 10 * MS
    ops = build.table(
        "ops",
        op=np.arange(10),
        thread=np.zeros(10, np.int32),
        start_ns=starts,
        end_ns=starts + 10 * MS,
        parent=np.full(10, -1),
        name=["mm"] * 10,
        kind=["op"] * 10,
    )
    assert taken_from_calls(ops, waits([(0, 75)])).tolist() == pytest.approx([7.5 * MS] * 10, rel=1e-6)


def test_parts_of_a_call_before_and_after_a_callee_are_not_alike() -> None:
    """A convolution asks for memory first: what comes before is short, and no measure for what comes after."""
    start, rows = 0, []
    for i in range(20):
        length = 400 * US + (20 * MS if i == 7 else 0)
        rows.append(("conv", start, start + length, -1))
        rows.append(("empty", start + 5 * US, start + 6 * US, len(rows) - 1))
        start += length
    ops = build.table(
        "ops",
        op=np.arange(len(rows)),
        thread=np.zeros(len(rows), np.int32),
        start_ns=[r[1] for r in rows],
        end_ns=[r[2] for r in rows],
        parent=[r[3] for r in rows],
        name=[r[0] for r in rows],
        kind=["op"] * len(rows),
    )
    taken = taken_from_calls(ops, waits([(0, 20)]))
    assert taken[14] > 0
    assert not np.delete(taken, 14).any()
