"""How a table of the recording is described: columns with type, unit and comment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Type names used in the schema, with the numpy type in memory and the SQL type on disk.
NUMPY_TYPE: dict[str, npt.DTypeLike] = {
    "i64": np.int64,
    "i32": np.int32,
    "f64": np.float64,
    "bool": np.bool_,
}
# What stands for "none" in memory; text is held as codes, whose none is -1.
NONE_VALUE = {"i64": -1, "i32": -1, "f64": np.nan, "bool": False, "text": -1}
SQL_TYPE = {
    "i64": "BIGINT",
    "i32": "INTEGER",
    "f64": "DOUBLE",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
}


@dataclass(frozen=True)
class ColumnSpec:
    """One column. Integers use -1 for "none", floats use NaN, text uses null."""

    name: str
    type: str
    comment: str
    unit: str = ""
    refers: str = ""  # the table whose identity the column holds; checked when a recording is opened


@dataclass(frozen=True)
class TableSpec:
    """One table: what a row is, and its columns in order."""

    name: str
    row_is: str
    columns: tuple[ColumnSpec, ...]

    @property
    def identity(self) -> str | None:
        """The column that numbers the rows: the first, where the rows of the table can be referred to."""
        first = self.columns[0]
        return first.name if first.refers == self.name else None

    @property
    def references(self) -> dict[str, str]:
        """Column → the table that it refers to, the identity among them."""
        return {c.name: c.refers for c in self.columns if c.refers}

    def column(self, name: str) -> ColumnSpec:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")


def i64(name: str, comment: str, unit: str = "", refers: str = "") -> ColumnSpec:
    return ColumnSpec(name, "i64", comment, unit, refers)


def i32(name: str, comment: str, unit: str = "", refers: str = "") -> ColumnSpec:
    return ColumnSpec(name, "i32", comment, unit, refers)


def f64(name: str, comment: str, unit: str = "") -> ColumnSpec:
    return ColumnSpec(name, "f64", comment, unit)


def flag(name: str, comment: str) -> ColumnSpec:
    return ColumnSpec(name, "bool", comment)


def text(name: str, comment: str) -> ColumnSpec:
    return ColumnSpec(name, "text", comment)
