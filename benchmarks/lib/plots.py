"""Plots as SVG text, with nothing but the standard library: points with intervals, one row each.

In: rows of numbers. Out: the text of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LABEL, RIGHT, ROW, TOP, BOTTOM = 760, 190, 130, 24, 46, 34
OURS, THEIRS, MISS = "#2f6fdf", "#8a8f98", "#d1483f"


@dataclass(frozen=True)
class Point:
    """A row: where the point is, its interval, and what stands beside it."""

    label: str
    value: float | None  # None: an interval alone
    low: float
    high: float
    text: str
    colour: str = THEIRS
    beside: float | None = None  # another point in the same row, drawn as a cross


def ticks_of(low: float, high: float, count: int = 6) -> list[float]:
    """Round numbers from `low` to `high`."""
    raw = (high - low) / max(count - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * k for k in range(first, last + 1)]


def intervals(
    title: str,
    points: Sequence[Point],
    axis: str,
    form: Callable[[float], str],
    bounds: tuple[float, float] | None = None,
) -> str:
    """A picture of the rows on one axis (`bounds`: its ends; default: what the rows need)."""
    least, most = bounds or (min(p.low for p in points), max(p.high for p in points))
    most = most if most > least else least + 1.0
    height = TOP + ROW * len(points) + BOTTOM

    def x(value: float) -> float:
        inside = min(max(value, least), most)
        return LABEL + (inside - least) / (most - least) * (WIDTH - LABEL - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="10" y="22" font-size="14" font-weight="bold" fill="#202124">{escape(title)}</text>',
    ]
    for tick in ticks_of(least, most):
        at, foot = f"{x(tick):.1f}", height - BOTTOM
        out.append(f'<line x1="{at}" x2="{at}" y1="{TOP - 8}" y2="{foot}" stroke="#e3e5e8"/>')
        out.append(f'<text x="{at}" y="{foot + 15}" text-anchor="middle" fill="#5f6368">{form(tick)}</text>')
    for row, point in enumerate(points):
        out += drawn(point, TOP + ROW * row + ROW / 2 - 6, x)
    right = f'x="{WIDTH - RIGHT}" y="{height - 4}"'
    out.append(f'<text {right} text-anchor="end" fill="#5f6368">{escape(axis)}</text></svg>')
    return "\n".join(out) + "\n"


def drawn(point: Point, y: float, x: Callable[[float], float]) -> list[str]:
    """One row: its label, interval, points and text."""
    label = (
        f'<text x="{LABEL - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#202124">{escape(point.label)}</text>'
    )
    line = (
        f'<line x1="{x(point.low):.1f}" x2="{x(point.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="{point.colour}" stroke-width="3" stroke-linecap="round" opacity="0.55"/>'
    )
    out = [label, line]
    if point.value is not None:
        out.append(f'<circle cx="{x(point.value):.1f}" cy="{y:.1f}" r="4.5" fill="{point.colour}"/>')
    if point.beside is not None:
        cross = f"M{x(point.beside) - 4:.1f} {y - 4:.1f} l8 8 m0 -8 l-8 8"
        out.append(f'<path d="{cross}" stroke="#202124" stroke-width="1.8" fill="none"/>')
    out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}" fill="#5f6368">{escape(point.text)}</text>')
    return out
