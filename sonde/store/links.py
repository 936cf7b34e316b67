"""Do the rows of a table refer to rows that exist, at times that can be? Asked once, when the table is loaded.

Enters: a table and the largest identity of each table that it refers to (`ColumnSpec.refers` declares which).
Leaves: nothing, or an InputError that names row, column and value. Afterwards an index taken from any column is within
bounds, identities are distinct and small enough to make an array of, chains of parents end, and the difference of two
times is never beyond the integers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sonde.columns import Array, Table
from sonde.errors import InputError
from sonde.store.schema import TABLES

# Tables whose identity is the row: they are indexed without looking the identity up.
BY_ROW = ("frames", "stacks")
FURTHEST_NS = (1 << 62) - 1  # 146 years from the clock's zero, both ways
_LOOSE = 1 << 20  # identities may have gaps (rows of a process that was left out), but only so many


def check(table: Table, largest: Callable[[str], int]) -> None:
    """InputError unless every reference of `table` leads to a row."""
    spec = TABLES[table.name]
    if spec.identity is not None:
        _identities(table.name, spec.identity, table.array(spec.identity))
    for column, target in spec.references.items():
        values = table.array(column)
        if column == spec.identity or not len(values):
            continue
        most = int(table.array(column_of(target)).max()) if target == table.name else largest(target)
        low, high = int(values.min()), int(values.max())
        if low < 0 and (table.name, column) == ("stacks", "frame"):
            raise InputError(f"row {int(np.argmin(values))} of table stacks is damaged: it has no frame")
        if low < -1 or high > most:
            row = int(np.argmax((values < -1) | (values > most)))
            raise InputError(
                f"row {row} of table {table.name} is damaged: {column} is {values[row]}, and the largest of "
                f"table {target} is {most}"
            )
    for column in (c.name for c in spec.columns if c.unit == "ns"):
        _times(table.name, column, table.array(column))
    if "parent" in table and len(table):
        _parents(table)


def column_of(table: str) -> str:
    """The identity column of a table that others refer to."""
    identity = TABLES[table].identity
    if identity is None:
        raise KeyError(f"nothing refers to table {table}")
    return identity


def _identities(name: str, column: str, values: Array) -> None:
    count = len(values)
    if not count or np.array_equal(values, np.arange(count)):
        return
    if name in BY_ROW:
        row = int(np.argmax(values != np.arange(count)))
        raise InputError(f"row {row} of table {name} is damaged: {column} is {values[row]}, not {row}")
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= 2 * count + _LOOSE:
        raise InputError(f"table {name} is damaged: {column} goes from {low} to {high} in {count} rows")
    if int(np.bincount(values).max()) > 1:
        raise InputError(f"table {name} is damaged: two rows have the same {column}")


def _times(name: str, column: str, values: Array) -> None:
    if not len(values) or -FURTHEST_NS <= int(values.min()) <= int(values.max()) <= FURTHEST_NS:
        return
    row = int(np.argmax((values < -FURTHEST_NS) | (values > FURTHEST_NS)))
    raise InputError(f"row {row} of table {name} is damaged: {column} is {values[row]}, which is not a time")


def _parents(table: Table) -> None:
    identity, parent = table.array(column_of(table.name)), table.array("parent")
    if (parent >= identity).any():  # mostly parents come first, and nothing is left to ask
        above = np.full(int(identity.max()) + 2, -1, np.int64)  # the last entry is for -1
        above[identity] = parent
        for _ in range(len(above).bit_length()):  # pointer doubling: each round looks twice as far up
            above = above[above]
        if (above >= 0).any():
            raise InputError(f"table {table.name} is damaged: the parents of its rows form a cycle")
    if table.name == "stacks":
        depth = table.array("depth").astype(np.int64)
        wrong = depth != np.append(depth, 0)[parent] + 1
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"row {row} of table stacks is damaged: depth {depth[row]} is not its caller's + 1"
            )
