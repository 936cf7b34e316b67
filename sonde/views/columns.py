"""The columns of a view's rows, read from their declaration (`sonde.rows.Column`), and rows in their order.

Enters: a row type, or rows. Leaves: its columns (`columns_of`), rows sorted (`ordered`) and filtered (`matching`).
`float | None` may be unknown; a NaN is unknown too, and JSON says null for both.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from sonde.columns import Table
from sonde.errors import UsageError
from sonde.rows import Column as Column
from sonde.rows import plain as plain

Kind = Literal["text", "integer", "number", "flag", "object"]
Row = TypeVar("Row")
_KINDS: dict[object, Kind] = {str: "text", int: "integer", float: "number", bool: "flag"}


class Declared(NamedTuple):
    """One column of a row type."""

    key: str
    kind: Kind
    unknown: bool  # it may be null
    said: Column


def columns_of(row_type: type) -> tuple[Declared, ...]:
    """The columns in the order of the fields. Fields without a `Column` are for programs only and not listed."""
    found = []
    for key, hint in get_type_hints(row_type, include_extras=True).items():
        said = next((a for a in getattr(hint, "__metadata__", ()) if isinstance(a, Column)), None)
        if said is not None:
            kind, unknown = _kind(get_args(hint)[0])
            found.append(Declared(key, kind, unknown, said))
    return tuple(found)


def _kind(hint: object) -> tuple[Kind, bool]:
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    wanted = [part for part in parts if part is not type(None)]
    return _KINDS.get(wanted[0], "object") if len(wanted) == 1 else "object", len(wanted) < len(parts)


def row_type_of(data: Callable[..., Any], rows: str) -> type:
    """The type of the rows of an answer, from what the function `data` says it returns."""
    answer = get_type_hints(data)["return"]
    (row_type,) = get_args(get_type_hints(answer)[rows])
    assert isinstance(row_type, type)
    return row_type


def rows_from(table: Table, row_type: type[Row]) -> list[Row]:
    """The rows of a table as `row_type`: by the names of its fields; NaN, and a column that is not there, are None."""
    names = [field.name for field in dataclasses.fields(row_type)]  # type: ignore[arg-type]
    columns = [table.columns[name].tolist() if name in table else [None] * len(table) for name in names]
    return [row_type(*(None if v != v else v for v in values)) for values in zip(*columns, strict=True)]


def ordered(rows: Sequence[Row], row_type: type, sort: str | None, default: str) -> list[Row]:
    """Rows by a column: text from A, numbers from the largest, unknown ones last."""
    by = {c.key: c for c in columns_of(row_type) if c.said.sortable}
    key = sort or default
    if key not in by:
        raise UsageError(f"cannot sort by {key!r}", "use one of " + ", ".join(by))
    if by[key].kind == "text":
        return sorted(rows, key=lambda r: (getattr(r, key) is None, getattr(r, key) or ""))
    return sorted(rows, key=lambda r: -_number(getattr(r, key)))


def _number(value: float | None) -> float:
    return -math.inf if value is None or math.isnan(value) else float(value)


def matching(rows: Iterable[Row], pattern: str | None, text: Callable[[Row], str]) -> list[Row]:
    """The rows whose text matches `--filter`."""
    import re

    if not pattern:
        return list(rows)
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--filter {pattern!r} is not a regular expression: {error}") from None
    return [row for row in rows if wanted.search(text(row))]
