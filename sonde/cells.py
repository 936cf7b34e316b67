"""Cells of a CSV file that no spreadsheet takes for a formula."""

from __future__ import annotations

from typing import TypeVar

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
Value = TypeVar("Value")


def safe_cell(value: Value) -> Value | str:
    """`value` as it is, or with a leading apostrophe where it is text that begins a formula.

    Text that is a number (-1.5) stays as it is: a spreadsheet computes nothing from it.
    """
    if not isinstance(value, str) or not value.startswith(_STARTS) or _is_number(value):
        return value
    return "'" + value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and not any(c.isspace() for c in text)
