"""The first lines of a view: what was done to the program, and what is missing."""

from __future__ import annotations

from sonde.analyze.recording.notes import PRINTED, notes
from sonde.columns import Table
from sonde.store import build


def _tables(primitives: int, ops: int) -> dict[str, Table]:
    return {
        "primitives": build.table("primitives", primitive=list(range(primitives))),
        "ops": build.table("ops", op=list(range(ops))),
        "losses": build.table("losses"),
        "marks": build.table("marks"),
        "counters": build.table("counters"),
        "samples": build.table("samples"),
        "threads": build.table("threads"),
    }


def test_verbose_libraries_are_said_to_slow_the_operators_of_their_windows() -> None:
    assert notes({}, {"primitives": True}, _tables(3, 5).__getitem__) == [PRINTED]


def test_nothing_is_said_when_nothing_was_printed_or_no_operator_was_timed() -> None:
    assert notes({}, {"primitives": True}, _tables(0, 5).__getitem__) == []
    assert notes({}, {"primitives": True}, _tables(3, 0).__getitem__) == []
    assert notes({}, {}, _tables(3, 5).__getitem__) == []
