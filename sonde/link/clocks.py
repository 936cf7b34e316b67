"""Times of one source moved to the recording's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.columns import Array, Table

TIMES = {
    "ops": ("start_ns", "end_ns"),
    "memory": ("time_ns",),
    "kernels": ("start_ns", "end_ns"),
    "launches": ("start_ns", "end_ns"),
    "counters": ("time_ns",),
}


def from_epoch(offset_ns: int) -> Callable[[Array], Array]:
    """From the wall clock to ours; `offset_ns` is wall clock − ours."""
    return lambda times_ns: times_ns - offset_ns


def on_our_clock(tables: Mapping[str, Table], to_ours: Callable[[Array], Array]) -> dict[str, Table]:
    """All times of `tables` by `to_ours`, which takes the source's times and gives ours."""
    moved = dict(tables)
    for name, columns in TIMES.items():
        if name in moved:
            table = moved[name]
            moved[name] = table.with_columns(**{column: to_ours(table.array(column)) for column in columns})
    return moved
