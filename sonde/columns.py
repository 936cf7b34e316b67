"""Columns and tables in memory: plain numpy arrays, with text kept as codes.

A text column with a million rows and two thousand distinct values is a million
small integers and two thousand strings. `Text` holds exactly that, so that
grouping and joining stay integer work and no Python string exists per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
NULL_CODE = -1


def distinct(values: Array) -> Array:
    """The distinct values, ascending. np.unique would import numpy.ma first, which takes longer than most answers."""
    ordered = np.sort(values, axis=None)
    different = np.empty(len(ordered), np.bool_)
    different[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=different[1:])
    return ordered[different]


def median(values: npt.ArrayLike) -> float:
    """The median, NaN where a value is. np.median would import numpy.ma first where values are floats."""
    ordered = np.sort(values, axis=None)
    count = len(ordered)
    if not count or ordered[-1] != ordered[-1]:  # NaN is sorted to the end
        return float("nan")
    low, high = ordered[(count - 1) // 2].item(), ordered[count // 2].item()
    return float(low if low == high else (low + high) / 2)


@dataclass(frozen=True)
class Text:
    """A text column: `values[codes[i]]` is row i; code -1 is null."""

    codes: npt.NDArray[np.int32]
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def take(self, rows: Array) -> Text:
        """The same column restricted to `rows` (indices or a mask)."""
        return Text(self.codes[rows], self.values)

    def objects(self) -> npt.NDArray[np.object_]:
        """Row values as an object array; one reference per row, no new strings."""
        table = np.empty(len(self.values) + 1, dtype=object)
        table[: len(self.values)] = self.values
        table[len(self.values)] = None  # code -1 indexes the last entry
        return table[self.codes]

    def tolist(self) -> list[str | None]:
        result: list[str | None] = self.objects().tolist()
        return result

    def equals(self, value: str) -> npt.NDArray[np.bool_]:
        """Mask of the rows that hold exactly `value`."""
        return self.where(v == value for v in self.values)

    def matches(self, wanted: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Mask of the rows whose value is one of `wanted`."""
        chosen = set(wanted)
        return self.where(v in chosen for v in self.values)

    def where(self, verdicts: Iterable[bool]) -> npt.NDArray[np.bool_]:
        """Mask of the rows whose value passed, given one verdict per distinct value; null never passes."""
        table = np.array([*verdicts, False], np.bool_)  # code -1 reads the last entry
        result: npt.NDArray[np.bool_] = table.take(self.codes, mode="wrap")
        return result

    @staticmethod
    def of(rows: Sequence[str | None]) -> Text:
        """Encode a sequence of strings."""
        interner = Interner()
        codes = np.fromiter((interner(r) for r in rows), dtype=np.int32, count=len(rows))
        return Text(codes, interner.values)

    @staticmethod
    def full(count: int, value: str | None) -> Text:
        """A column that repeats one value."""
        if value is None:
            return Text(np.full(count, NULL_CODE, np.int32), [])
        return Text(np.zeros(count, np.int32), [value])

    @staticmethod
    def concat(parts: Sequence[Text]) -> Text:
        """One column after the other, with the dictionaries united."""
        interner = Interner()
        codes = []
        for part in parts:
            recode = np.array([interner(v) for v in part.values] + [NULL_CODE], dtype=np.int32)
            codes.append(recode[part.codes])
        joined = np.concatenate(codes) if codes else np.empty(0, np.int32)
        return Text(joined.astype(np.int32), interner.values)


class Interner:
    """Gives each distinct string the next small integer; None is -1."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._codes: dict[str, int] = {}

    def __call__(self, value: str | None) -> int:
        if value is None:
            return NULL_CODE
        code = self._codes.get(value)
        if code is None:
            code = self._codes[value] = len(self.values)
            self.values.append(value)
        return code


Column = Union[Array, Text]


@dataclass(frozen=True)
class Table:
    """Named columns of one length. `name` names a table of `sonde.store.schema`, or a result."""

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        for column in self.columns.values():
            return len(column)
        return 0

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def array(self, column: str) -> Array:
        """A numeric column."""
        found = self.columns[column]
        if isinstance(found, Text):
            raise TypeError(f"{self.name}.{column} is text; use .text()")
        return found

    def text(self, column: str) -> Text:
        """A text column."""
        found = self.columns[column]
        if not isinstance(found, Text):
            raise TypeError(f"{self.name}.{column} is numeric; use .array()")
        return found

    def take(self, rows: Array) -> Table:
        """The rows given by an index array or a mask, in that order."""
        return Table(
            self.name,
            {n: c.take(rows) if isinstance(c, Text) else c[rows] for n, c in self.columns.items()},
        )

    def with_columns(self, **columns: Column) -> Table:
        """A copy with columns added or replaced."""
        return Table(self.name, {**self.columns, **columns})
