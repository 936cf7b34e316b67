"""Real launches in the order they happened, replayed to a design of comparison as if it had asked for them.

A made-up machine (machine.py) drifts as we think that machines do; a series drifts as this one did. A planted
effect multiplies the measured time of a launch, so that all designs meet the same noise and the truth is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


class Series:
    """A machine whose launches take the times of a series, one after the other from a start."""

    def __init__(self, times_ms: Sequence[float], start: int) -> None:
        self.seed = start
        self.rng = np.random.default_rng(start)
        self.launches = 0
        self._times = times_ms[start:]

    def launch(self, effect: float) -> float:
        """Time of the next launch of a program that is slower by `effect`."""
        time_ms = self._times[self.launches]
        self.launches += 1
        return time_ms * (1 + effect)


def starts(count: int, longest: int, every: int = 4) -> Iterator[int]:
    """Where trials begin: each has `longest` launches before it; neighbours share most of theirs."""
    yield from range(0, count - longest + 1, every)
