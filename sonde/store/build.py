"""Make a table that obeys the schema from the columns that a source has.

What a source does not know is filled with the schema's "none": -1, NaN, False
or null. What it gives in the wrong type or length is a programming error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.columns import Array, Column, Table, Text
from sonde.store.schema import NONE_VALUE, NUMPY_TYPE, TABLES, ColumnSpec


def table(name: str, /, row_count: int | None = None, **columns: Column | Sequence[Any]) -> Table:
    """A full table `name`; `row_count` is needed only when no column is given."""
    spec = TABLES[name]
    unknown = set(columns) - {c.name for c in spec.columns}
    if unknown:
        raise KeyError(f"table {name} has no column {sorted(unknown)}")
    count = row_count
    if count is None:
        count = len(next(iter(columns.values()))) if columns else 0
    full: dict[str, Column] = {}
    for column in spec.columns:
        given = columns.get(column.name)
        full[column.name] = _none(column, count) if given is None else _typed(column, given)
        if len(full[column.name]) != count:
            raise ValueError(f"{name}.{column.name} has {len(full[column.name])} rows, not {count}")
    return Table(name, full)


def empty(name: str) -> Table:
    """Table `name` with no rows."""
    return table(name, row_count=0)


def concat(name: str, parts: Sequence[Table]) -> Table:
    """Tables of one schema, one after the other."""
    if not parts:
        return empty(name)
    joined: dict[str, Column] = {}
    for column in TABLES[name].columns:
        if column.type == "text":
            joined[column.name] = Text.concat([p.text(column.name) for p in parts])
        else:
            joined[column.name] = np.concatenate([p.array(column.name) for p in parts])
    return Table(name, joined)


def _none(column: ColumnSpec, count: int) -> Column:
    if column.type == "text":
        return Text.full(count, None)
    return np.full(count, NONE_VALUE[column.type], NUMPY_TYPE[column.type])


def _typed(column: ColumnSpec, given: Column | Sequence[Any]) -> Column:
    if column.type == "text":
        return given if isinstance(given, Text) else Text.of(list(given))
    if isinstance(given, Text):
        raise TypeError(f"{column.name} is {column.type}, not text")
    array: Array = np.asarray(given)
    wanted = np.dtype(NUMPY_TYPE[column.type])
    if wanted.kind == "i" and array.dtype != wanted and len(array):
        # astype would wrap what does not fit, in silence: another number.
        low, high = array.min(), array.max()
        if not (np.iinfo(wanted).min <= low and high <= np.iinfo(wanted).max):
            raise OverflowError(f"column {column.name} holds {low} to {high}, which is not {column.type}")
    return array.astype(wanted, copy=False)
