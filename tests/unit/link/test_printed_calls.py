"""Calls that were timed while libraries printed are in no table of times, as long as there are others."""

from __future__ import annotations

import pytest

from sonde.columns import Table
from sonde.link.printed_calls import with_printed_calls
from sonde.store import build


def tables(windows: int) -> dict[str, Table]:
    """Windows of 10 ns every 100 ns with one call each, of two processes; the first window of each printed."""
    starts = [100 * i for i in range(windows)]
    rows = [(p, "complete", s) for p in (0, 1) for s in starts] + [(p, "primitives", 0) for p in (0, 1)]
    return {
        "marks": build.table(
            "marks",
            process=[r[0] for r in rows],
            kind=["window"] * len(rows),
            name=[r[1] for r in rows],
            start_ns=[r[2] for r in rows],
            end_ns=[r[2] + 10 for r in rows],
        ),
        "threads": build.table("threads", thread=[7, 8], process=[0, 1]),
        "ops": build.table(
            "ops",
            op=range(2 * windows),
            thread=[7] * windows + [8] * windows,
            kind=["op"] * (2 * windows),
            name=["aten::mm"] * (2 * windows),
            start_ns=[s + 3 for s in starts] * 2,
            end_ns=[s + 6 for s in starts] * 2,
        ),
    }


@pytest.mark.parametrize(
    ("windows", "kinds"), [(1, None), (3, ["printed", "op", "op", "printed", "op", "op"])]
)
def test_the_calls_of_a_printing_window_are_set_apart_where_there_are_others(
    windows: int, kinds: list[str] | None
) -> None:
    found = with_printed_calls(tables(windows))
    assert (found["ops"].text("kind").tolist() if found else None) == kinds
    if found:
        names = found["marks"].text("name").tolist()
        assert names == ["printed", "complete", "complete"] * 2 + ["primitives"] * 2
