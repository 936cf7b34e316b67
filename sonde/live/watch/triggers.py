"""When is a step, or the pace of a program, unusual enough to keep a recording of it?

Enters: the steps of one process as they end, and the time. Leaves: a sentence that says what is unusual, or nothing.
A step is held against the steps before it, not against a limit that somebody has to know: what comes again (a
checkpoint, a validation) becomes usual by coming again.
"""

from __future__ import annotations

from collections import deque

import numpy as np

HISTORY = 500  # steps
FEWEST = 100  # before anything is judged
SPREADS = 8.0  # above the median; a spread is 1.4826 times the median distance from it
SMALLEST_SPREAD = 0.02  # of the median
BEYOND_OTHERS = 1.25  # times the second longest step of the history
REFRESH_EVERY = 16  # steps: the bounds are worked out so often

BLOCK_S = 10.0  # steps are counted in blocks of so long, or of so many steps' time
BLOCK_STEPS = 10
BLOCKS = 30  # of the past
FEWEST_BLOCKS = 6
IN_A_ROW = 3  # slow blocks
FALL, FALL_SPREADS = 0.15, 4.0  # below the median of the blocks


class SlowStep:
    """Steps of one process."""

    def __init__(self) -> None:
        self._history: deque[float] = deque(maxlen=HISTORY)
        self._limit_s = 0.0
        self._median_s = 0.0
        self._since_refresh = 0

    def step(self, seconds: float) -> str | None:
        """A step took so long."""
        slow = len(self._history) >= FEWEST and seconds > self._limit_s
        said = (
            f"a step took {_time(seconds)}; half of the last {len(self._history)} took {_time(self._median_s)} or less"
            f", and up to {_time(self._limit_s)} is usual"
            if slow
            else None
        )
        self._history.append(seconds)
        self._since_refresh += 1
        if slow or self._since_refresh >= REFRESH_EVERY or len(self._history) == FEWEST:
            self._refresh()
        return said

    @property
    def median_s(self) -> float:
        return self._median_s

    def _refresh(self) -> None:
        times = np.sort(np.fromiter(self._history, np.float64))
        self._median_s, spread = middle(times)
        second = float(times[-2]) if len(times) > 1 else 0.0
        self._limit_s = max(self._median_s + SPREADS * spread, BEYOND_OTHERS * second)
        self._since_refresh = 0


class SlowerPace:
    """The throughput of one process."""

    def __init__(self, now_s: float) -> None:
        self._start_s = now_s
        self._count = 0
        self._rates: deque[float] = deque(maxlen=BLOCKS)
        self._slow: list[float] = []

    def step(self) -> None:
        self._count += 1

    def look(self, now_s: float, step_s: float) -> str | None:
        """At this time; steps usually take `step_s`."""
        length_s = max(BLOCK_S, BLOCK_STEPS * step_s)
        if now_s - self._start_s < length_s:
            return None
        rate = self._count / (now_s - self._start_s)
        self._start_s, self._count = now_s, 0
        if not rate and not self._rates:
            return None  # it has not begun
        if len(self._rates) < FEWEST_BLOCKS:
            self._rates.append(rate)
            return None
        usual, spread = middle(np.fromiter(self._rates, np.float64))
        if rate >= usual - max(FALL * usual, FALL_SPREADS * spread):
            self._rates.extend([*self._slow, rate])
            self._slow = []
            return None
        self._slow.append(rate)
        if len(self._slow) < IN_A_ROW:
            return None
        mean = sum(self._slow) / len(self._slow)
        self._rates.clear()  # what is usual from now on is learned anew
        self._rates.extend(self._slow)
        self._slow = []
        if not mean:
            return f"no step has ended for {IN_A_ROW * length_s:.0f} s; {usual:.3g} steps a second were usual"
        return f"{mean:.3g} steps a second; {usual:.3g} were usual"


def middle(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """Median, and a spread that outliers do not move."""
    median = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - median)))
    return median, max(spread, SMALLEST_SPREAD * median)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
