"""The clocks of two hosts, from the collectives that their ranks share.

Enters: per shared call when a rank of each host asked and when it had ended, each by its own clock. Leaves: a
`ClockFit`: clock B = clock A + offset, the offset a line, since clocks drift. Two things are known of it.

Bounds: no rank leaves a synchronising collective before every rank has entered it, so for each call
    asked_B − ended_A  ≤  offset  ≤  ended_B − asked_A
Of all lines that keep every bound, the one with most room to both sides is off by at most half of that room, whatever
the network does. Where no line keeps them a clock was set, or the two are not of one job.

Ends: a collective ends on all ranks within its transfer. So ended_B − ended_A of a call is off by no more than that,
and the median over the fastest quarter of the calls by no more than their longest transfer; 2.5 standard errors are
added. The others are no help: a busy machine notes many of its ends late. This is the better one where one host always
comes last, so that only one bound is near. The line with the smaller uncertainty is taken; one by ends must keep the
bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.columns import Array

FEWEST = 3
MOST_DRIFT = 1e-3  # of a clock against another; more is no clock
SLOPES = 41
FASTEST = 0.25  # of the calls
FEWEST_FAST = 12
ROUNDS = 3  # which calls are fast is known by the clocks, and the clocks by the fast calls

Room = Callable[[float], tuple[float, float]]  # slope → the least and the largest offset that keep all bounds


@dataclass(frozen=True)
class ClockFit:
    """`offset_ns` at `origin_ns` of clock B, growing by `drift`; `refused` says why there is none."""

    calls: int
    origin_ns: int = 0
    offset_ns: float = 0.0
    drift: float = 0.0
    uncertainty_ns: float = 0.0
    refused: str = ""

    def to_a(self, times_b: Array) -> Array:
        """Times of clock B by clock A."""
        moved: Array = times_b - np.round(
            self.offset_ns + self.drift * (times_b - self.origin_ns).astype(float)
        ).astype(np.int64)
        return moved


SAME_CLOCK = ClockFit(0)


def fit(asked_a: Array, ended_a: Array, asked_b: Array, ended_b: Array) -> ClockFit:
    """Nanoseconds of each clock, one entry per pair of ranks and call."""
    if len(asked_a) < FEWEST:
        return ClockFit(
            len(asked_a),
            refused=f"only {len(asked_a)} synchronising collectives are shared; {FEWEST} are needed",
        )
    base = int(asked_b[0] - asked_a[0])  # hours apart: differences first, so that doubles are exact enough
    low = (asked_b - ended_a - base).astype(float)
    high = (ended_b - asked_a - base).astype(float)
    origin = int(asked_b.min())
    at = (asked_b - origin).astype(float)

    def room(slope: float) -> tuple[float, float]:
        return float((low - slope * at).max()), float((high - slope * at).min())

    span = max(float(at.max()), 1.0)
    slope = _best(lambda s: room(s)[1] - room(s)[0], -MOST_DRIFT, MOST_DRIFT)
    first, last = room(slope)
    if last < first:
        return ClockFit(
            len(asked_a),
            refused=f"no offset fits all {len(asked_a)} shared collectives, by {(first - last) / 2e6:.3f} ms: a clock "
            "was set during the run, or the recordings are of different runs",
        )
    hard = _bounded(room, slope, span, len(asked_a), origin, base)
    soft = _by_ends(at, asked_a, ended_a, asked_b, ended_b, base, origin)
    low_end, high_end = room(soft.drift)
    kept = low_end - soft.uncertainty_ns <= soft.offset_ns - base <= high_end + soft.uncertainty_ns
    return soft if kept and soft.uncertainty_ns < hard.uncertainty_ns else hard


def _bounded(room: Room, slope: float, span: float, calls: int, origin: int, base: int) -> ClockFit:
    """The line in the middle of all that keep the bounds, and how far the others are from it."""
    first, last = room(slope)
    chosen = (first + last) / 2
    worst = 0.0
    for other in np.linspace(
        _edge(room, slope, -MOST_DRIFT), _edge(room, slope, MOST_DRIFT), SLOPES
    ).tolist():
        low_end, high_end = room(other)
        if high_end < low_end:
            continue
        for moment in (0.0, span / 2, span):
            here = chosen + slope * moment
            worst = max(worst, abs(low_end + other * moment - here), abs(high_end + other * moment - here))
    return ClockFit(calls, origin, base + chosen, slope, worst)


def _by_ends(
    at: Array, asked_a: Array, ended_a: Array, asked_b: Array, ended_b: Array, base: int, origin: int
) -> ClockFit:
    """The median line through the differences of ends of the fastest calls."""
    apart = (ended_b - ended_a - base).astype(float)
    chosen = np.arange(len(apart))
    longest = 0.0
    for _ in range(ROUNDS):
        slope, offset = _line(at[chosen], apart[chosen])
        here = offset + slope * at
        last = np.maximum((asked_b - asked_a - base).astype(float) - here, 0.0)  # to ask, from A's moment on
        ends = np.maximum((ended_a - asked_a).astype(float), (ended_b - asked_a - base).astype(float) - here)
        transfer = ends - last
        count = min(max(int(FASTEST * len(apart)), FEWEST_FAST), len(apart))
        chosen = np.sort(np.argsort(transfer, kind="stable")[:count])
        longest = max(float(transfer[chosen].max()), 0.0)
    slope, offset = _line(at[chosen], apart[chosen])
    rest = apart[chosen] - slope * at[chosen] - offset
    error = 1.2533 * 1.4826 * float(np.median(np.abs(rest))) / np.sqrt(len(rest))
    # The slope is as uncertain as the offset at either end: it is counted twice.
    return ClockFit(len(apart), origin, base + offset, slope, longest + 2 * 2.5 * error)


def _line(at: Array, apart: Array) -> tuple[float, float]:
    """Slope and offset of the median line."""
    half = len(apart) // 2
    run = at[half : half * 2] - at[:half]
    slopes = (apart[half : half * 2] - apart[:half])[run > 0] / run[run > 0]
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    return slope, float(np.median(apart - slope * at))


def _best(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is largest."""
    for _ in range(100):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        if value(one) < value(two):
            low = one
        else:
            high = two
    return (low + high) / 2


def _edge(room: Room, inside: float, outside: float) -> float:
    """The outermost slope towards `outside` that keeps all bounds."""
    low, high = room(outside)
    if high >= low:
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        low, high = room(middle)
        inside, outside = (middle, outside) if high >= low else (inside, middle)
    return inside
