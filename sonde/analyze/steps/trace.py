"""Steps of a trace: where they are on the host and on the device, which are warm-up, how much they vary.

Enters: `marks` (or `ops` named ProfilerStep#N), `Work`. Leaves: `TraceSteps`.
    device window of a step = first start to last end of the events launched inside its host window
    step time = from the previous step's end to this one's end, where end is the later of host and
        device: asynchronous work that a step leaves behind belongs to it
    warm-up = leading steps that are slower than the median of the others by more than
        3 × 1.4826 × MAD and by more than 10 %
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import Times
from sonde.analyze.device.events import Work
from sonde.columns import Array, Table, median

_STEP = re.compile(r"ProfilerStep[#*\s]*(\d+)")
WARMUP_SHARE = 0.10
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class TraceSteps:
    """Steps in order of start. Device times are -1 for a step that launched nothing."""

    number: Array
    start: Times
    end: Times
    device_start: Times
    device_end: Times
    events: Array  # device events launched in each step

    def __len__(self) -> int:
        return len(self.number)

    @property
    def times_ns(self) -> Times:
        """Time of each step; see the header."""
        if not len(self):
            return np.empty(0, np.int64)
        finish = np.maximum(self.end, self.device_end)
        begin = np.maximum(self.start, np.concatenate(([self.start[0]], np.maximum.accumulate(finish)[:-1])))
        times: Times = np.maximum(finish - begin, 0)
        return times

    @property
    def warmup(self) -> int:
        """How many leading steps are warm-up; 0 when fewer than three steps leave no baseline."""
        times = self.times_ns
        for count in range(len(times) - 2):
            rest = times[count + 1 :]
            middle = median(rest)
            spread = MAD_TO_SIGMA * median(np.abs(rest - middle))
            if times[count] <= max(middle + 3 * spread, middle * (1 + WARMUP_SHARE)):
                return count
        return max(len(times) - 2, 0)

    @property
    def median_ns(self) -> float:
        """Median of the steps after warm-up."""
        steady = self.times_ns[self.warmup :]
        return median(steady) if len(steady) else 0.0

    @property
    def variability(self) -> float:
        """Robust spread over median (1.4826·MAD / median) of the steps after warm-up."""
        steady = self.times_ns[self.warmup :]
        if len(steady) < 2 or not self.median_ns:
            return 0.0
        return MAD_TO_SIGMA * median(np.abs(steady - self.median_ns)) / self.median_ns


def trace_steps(marks: Table, ops: Table, work: Work) -> TraceSteps:
    """The steps that the trace names; none when it names none."""
    number, start, end = _named(marks, ops)
    order = np.argsort(start, kind="stable")
    number, start, end = number[order], start[order], end[order]
    device_start = np.full(len(number), -1, np.int64)
    device_end = device_start.copy()
    events = np.zeros(len(number), np.int64)
    linked = work.take(work.launched)
    if len(number) and len(linked):
        step = np.searchsorted(start, linked.launch_start, "right") - 1
        inside = (step >= 0) & (linked.launch_end <= end[np.maximum(step, 0)])
        step, mine = step[inside], linked.take(inside)
        events = np.bincount(step, minlength=len(number))
        low = np.full(len(number), np.iinfo(np.int64).max)
        np.minimum.at(low, step, mine.start)
        np.maximum.at(device_end, step, mine.end)
        device_start = np.where(events > 0, low, -1)
    return TraceSteps(number, start, end, device_start, device_end, events)


def _named(marks: Table, ops: Table) -> tuple[Array, Times, Times]:
    is_step = marks.text("kind").equals("step") if len(marks) else np.zeros(0, bool)
    if is_step.any():
        return (
            marks.array("number")[is_step].astype(np.int64),
            marks.array("start_ns")[is_step],
            marks.array("end_ns")[is_step],
        )
    names = ops.text("name")
    numbers = np.array([_number(v) for v in names.values] + [-1], np.int64)
    rows = np.flatnonzero(numbers[names.codes] >= 0)
    return numbers[names.codes[rows]], ops.array("start_ns")[rows], ops.array("end_ns")[rows]


def _number(name: str) -> int:
    match = _STEP.fullmatch(name)
    return int(match.group(1)) if match else -1
