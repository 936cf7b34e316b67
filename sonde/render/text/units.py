"""Numbers for people: a unit always, and no more digits than mean something; and short paths."""

from __future__ import annotations

import math


def milliseconds(ms: float) -> str:
    """12.3 ms, 1.23 s, 456 µs: three significant digits in the unit that fits."""
    if math.isnan(ms):
        return "–"
    if ms == 0:
        return "0"
    for unit, factor in (("µs", 1e3), ("ms", 1.0), ("s", 1e-3)):
        value = ms * factor
        if abs(value) < 999.5 or unit == "s":
            return f"{_three(value)} {unit}"
    raise AssertionError("unreachable")


def nanoseconds(ns: float) -> str:
    return milliseconds(ns / 1e6)


def percent(share: float) -> str:
    """A share of 0..1 as a percentage; tiny ones say so instead of 0.0 %."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{share * 100:.1f} %"


def size(count_bytes: float) -> str:
    """1.50 MiB, 12.0 GiB, 312 B."""
    if math.isnan(count_bytes):
        return "–"
    value, sign = abs(count_bytes), "-" if count_bytes < 0 else ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1023.5:
            return f"{sign}{value:.0f} B" if unit == "B" else f"{sign}{_three(value)} {unit}"
        value /= 1024
    return f"{sign}{_three(value)} TiB"


def count(number: float) -> str:
    """1,234,567."""
    return f"{number:,.0f}"


def place(path: str) -> str:
    """A file told by its end: the last two parts of its path."""
    return "/".join(path.split("/")[-2:])


def _three(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
