"""The outer loop of a program that makes no steps, from the lines that run in the frames on its stack.

Enters: line events of the frames that were on the stack when the search began. Leaves: the outermost frame with a loop,
the line that its turns share, and how long a turn takes. Other functions are not followed, so a turn is hardly longer
than without it. Pure: `unstepped.py` follows the frames.
"""

from __future__ import annotations

import itertools
from types import FrameType

FEWEST_VISITS = 3  # of a line, before it is called a loop
ENOUGH_VISITS = 5
# The outermost frame decides at once. A loop in one that it called may be within a slower loop: wait for that.
LEAST_NS, INNER_NS, MOST_NS = 30_000_000, 250_000_000, 2_000_000_000
MOST_EVENTS = 200_000


class Loops:
    """Counts visits of the lines of some frames, outermost first."""

    def __init__(self, frames: list[FrameType], start_ns: int) -> None:
        self.frames = frames
        self._start_ns = start_ns
        self._events = 0
        self._inner = False
        self._visits: list[dict[int, list[int]]] = [{} for _ in frames]  # line → times

    def line(self, frame: FrameType, line: int, time_ns: int) -> bool:
        """A line of one of the frames begins; True when enough was seen."""
        self._events += 1
        outer = False
        for n, base in enumerate(self.frames):
            if base is frame:
                times = self._visits[n].setdefault(line, [])
                times.append(time_ns)
                del times[:-64]
                if len(times) >= ENOUGH_VISITS:
                    outer, self._inner = n == 0, True
                break
        elapsed = time_ns - self._start_ns
        if outer and elapsed > LEAST_NS:
            return True
        return elapsed > (INNER_NS if self._inner else MOST_NS) or self._events > MOST_EVENTS

    def outermost(self) -> tuple[FrameType, int, int, int] | None:
        """Frame, line, median time of a turn, number of turns; of a loop's lines the one that comes least often."""
        for frame, visits in zip(self.frames, self._visits, strict=True):
            turning = [(len(times), line) for line, times in visits.items() if len(times) >= FEWEST_VISITS]
            if turning:
                line = min(turning)[1]
                times = visits[line]
                turns = sorted(b - a for a, b in itertools.pairwise(times))
                return frame, line, turns[len(turns) // 2], len(turns)
        return None
