"""Tables of `sonde query` that are not stored but made when a statement names them: the rows of Sonde's own views.

The store knows only their form. `sonde.views.tabular` says what they are, so that SQL, text and JSON have one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.store.recording import Recording

if TYPE_CHECKING:
    import duckdb


class MadeColumn(NamedTuple):
    name: str
    type: str  # of SQL
    unit: str
    meaning: str


class MadeTable(NamedTuple):
    """`columns` and `rows` are asked for only when they are needed."""

    answers: str
    columns: Callable[[], list[MadeColumn]]
    rows: Callable[[Recording], Iterable[tuple[object, ...]]]


def add_made(
    connection: duckdb.DuckDBPyConnection, name: str, made: MadeTable, recording: Recording | None
) -> None:
    """Create the table; without a recording it stays empty, for statements that only list tables."""
    columns = made.columns()
    rows = list(made.rows(recording)) if recording is not None else []
    declared = ", ".join(f'"{c.name}" {c.type}' for c in columns)
    connection.execute(f"CREATE TABLE {name} ({declared})")
    if not rows:
        return
    arrays = {}
    for column, values in zip(columns, zip(*rows, strict=True), strict=True):
        arrays[column.name] = np.empty(len(rows), object)
        arrays[column.name][:] = values
    connection.register("_made", arrays)
    chosen = ", ".join(f'"{c.name}"' for c in columns)
    connection.execute(f"INSERT INTO {name} SELECT {chosen} FROM _made")
    connection.unregister("_made")
