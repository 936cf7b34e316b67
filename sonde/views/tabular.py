"""The rows of a view as a table for other programs: CSV, and the tables that `sonde query` knows by name.

Enters: a view's answer. Leaves: cells in the order of the declared columns. Cells that a spreadsheet would run as a
formula are made harmless (`sonde.cells`).
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator
from typing import Any, TextIO

from sonde.cells import safe_cell
from sonde.store.made import MadeColumn, MadeTable
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.columns import Declared, Kind, columns_of, plain, row_type_of
from sonde.views.options import ShowOptions

_SQL: dict[Kind, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "flag": "BOOLEAN"}


def view_columns(name: str) -> tuple[Declared, ...]:
    """The columns of a view's rows that are one value each; lists and objects are in JSON alone."""
    view = VIEWS[name]
    columns = columns_of(row_type_of(importlib.import_module(view.module).data, view.rows))
    return tuple(column for column in columns if column.kind != "object")


def write_csv(name: str, answer: Any, limit: int | None, stream: TextIO) -> None:
    """Keys first, then the rows."""
    writer = csv.writer(stream, lineterminator="\n")
    columns = view_columns(name)
    writer.writerow([column.key for column in columns])
    for row in getattr(answer, VIEWS[name].rows)[:limit]:
        writer.writerow([safe_cell(plain(getattr(row, column.key))) for column in columns])


def made_tables() -> dict[str, MadeTable]:
    """By the name that SQL calls it: what each answers, its columns, and how its rows are made."""
    return {view.sql: _made(name) for name, view in VIEWS.items() if view.sql is not None}


def _made(name: str) -> MadeTable:
    view = VIEWS[name]

    def columns() -> list[MadeColumn]:
        return [MadeColumn(c.key, _SQL[c.kind], c.said.unit, c.said.meaning) for c in view_columns(name)]

    def rows(recording: Recording) -> Iterator[tuple[object, ...]]:
        keys = [c.key for c in view_columns(name)]
        for row in getattr(view.answer(recording, ShowOptions()), view.rows):
            yield tuple(plain(getattr(row, key)) for key in keys)

    return MadeTable(f"{view.line} (sonde show {name})", columns, rows)
