"""JSON that someone else may have written, above all in text columns: `marks.extra`, `kernels.extra`, `ops.dtypes`.

A recording may come from anywhere. Text that holds no object is an empty one, and a value of another type than the
one asked for is "none", as if its key were missing.
"""

from __future__ import annotations

import json
import math
from typing import Any

_INT64 = 1 << 63


def loads(text: str | bytes) -> Any:
    """Any JSON document. NaN, Infinity and 1e999 are no numbers: null. Too deep is a ValueError."""
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON for programs. NaN and Infinity, which JSON has not and hostile figures lead to, become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        return json.dumps(_without_nan(value), ensure_ascii=False, allow_nan=False, indent=indent)


def object_of(text: str | None) -> dict[str, Any]:
    """The object that a cell holds; empty when it holds none."""
    found = _loaded(text)
    return found if isinstance(found, dict) else {}


def list_of(text: str | None) -> list[Any] | None:
    """The list that a cell holds; None when it holds none."""
    found = _loaded(text)
    return found if isinstance(found, list) else None


def whole(value: object, none: int = -1) -> int:
    """A whole number that fits into a column; a text of digits counts, as some tools write them."""
    if isinstance(value, str):
        digits = value.strip().removeprefix("-")
        value = int(value) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
    return value if fits and isinstance(value, int) else none


def text(value: object) -> str | None:
    """A text, None for anything else."""
    return value if isinstance(value, str) else None


def items(value: object) -> list[Any]:
    """A list, empty for anything else."""
    return value if isinstance(value, list) else []


def _loaded(cell: str | None) -> Any:
    try:
        return loads(cell) if cell else None
    except ValueError:
        return None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    return [_without_nan(inner) for inner in value] if isinstance(value, (list, tuple)) else value
