"""The chain of stretches that decides how long a window takes, and what bounds each of them.

Enters: `Work`, `launches`, a window. Leaves: `CriticalPath`: stretches that cover the window without gap or
overlap, latest work first found, told in order of time. It walks back from the end of the window:
    on a device event  it takes the event's own time (compute, communication, copy), then asks what its start
                       waited for, the latest of: the event before it in its stream (kernel_gap), an event of
                       another stream where it was queued long before (dependency), its launch (launch)
    on the host        it takes the time (cpu) back to the last call that waited for the device; the event
                       that this call waited for comes next (sync: from its end to the call's return)
Shortening anything on the path shortens the window until another chain takes over; nothing off it does.
Dependencies between streams are inferred from times, since most traces do not record them: they are counted
in `inferred`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sonde.analyze.device.events import Work
from sonde.analyze.device.idle import KERNEL_GAP_NS
from sonde.analyze.device.kernel_names import CLASSES
from sonde.analyze.device.syncs import blocking_calls
from sonde.columns import Table

BOUNDS = ("cpu", "launch", "compute", "communication", "copy", "kernel_gap", "dependency", "sync")


class Stretch(NamedTuple):
    """A part of the path: one of BOUNDS, and the kernel or call that it is about."""

    start_ns: int
    end_ns: int
    bound: str
    name: str
    event: int  # row in the walked `Work`; for cpu (what it led to) and sync the row in `launches`; or -1

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class CriticalPath:
    """The stretches in order of time; their lengths add up to the window."""

    start_ns: int
    end_ns: int
    stretches: tuple[Stretch, ...]
    inferred: int  # dependencies between streams that were inferred from times

    @property
    def by_bound_ns(self) -> dict[str, int]:
        total = dict.fromkeys(BOUNDS, 0)
        for stretch in self.stretches:
            total[stretch.bound] += stretch.length_ns
        return total

    def top(self, count: int = 10) -> list[tuple[str, str, int]]:
        """(bound, name, nanoseconds on the path), largest first."""
        total: dict[tuple[str, str], int] = {}
        for s in self.stretches:
            total[s.bound, s.name] = total.get((s.bound, s.name), 0) + s.length_ns
        ordered = sorted(total.items(), key=lambda item: -item[1])
        return [(bound, name, ns) for (bound, name), ns in ordered[:count]]


def critical_path(work: Work, launches: Table, start_ns: int, end_ns: int) -> CriticalPath:
    """The critical path of one process in a window: a step, or the whole trace."""
    mine = work.take((work.end > start_ns) & (work.end <= end_ns) & (work.start >= start_ns))
    return _Walk(mine, launches, start_ns, end_ns).path()


class _Walk:
    """The state of one walk back in time. Plain lists: the walk asks single elements."""

    def __init__(self, work: Work, launches: Table, start_ns: int, end_ns: int) -> None:
        self.work, self.low, self.high = work, start_ns, end_ns
        self.start, self.end = work.start.tolist(), work.end.tolist()
        self.launch_start, self.launch = work.launch_start.tolist(), work.launch.tolist()
        self.before = _previous_in_stream(work)
        self.by_end = np.argsort(work.end, kind="stable").tolist()
        self.ends = [self.end[i] for i in self.by_end]
        rows = blocking_calls(work, launches)
        rows = rows[np.argsort(launches.array("end_ns")[rows], kind="stable")]
        self.call_rows = rows.tolist()
        self.call_start = launches.array("start_ns")[rows].tolist()
        self.call_end = launches.array("end_ns")[rows].tolist()
        self.call_names = launches.text("name")
        self.names = work.name.tolist()
        self.classes = [CLASSES[c] for c in work.kind_class.tolist()]
        self.found: list[Stretch] = []
        self.at = end_ns
        self.next_call = len(self.call_rows)  # calls from here on are behind the walk: none is passed twice
        self.inferred = 0

    def path(self) -> CriticalPath:
        led_to = -1
        event = self._last_event()
        while self.at > self.low:
            if event >= 0:
                event, led_to = self._on_device(event)
            else:
                event, led_to = self._on_host(led_to)
        return CriticalPath(self.low, self.high, tuple(reversed(self.found)), self.inferred)

    def _last_event(self) -> int:
        """The event to begin with, when the window ends with one; else the host was the last to finish."""
        return self.by_end[-1] if self.ends and self.ends[-1] >= self.high else -1

    def _take(self, until: int, bound: str, name: str, event: int) -> None:
        """Add the stretch from `until` to where the walk is, and go there. Never past the window's start."""
        if until < self.low:
            until = self.low
        if until < self.at:
            self.found.append(Stretch(until, self.at, bound, name, event))
            self.at = until

    def _on_device(self, event: int) -> tuple[int, int]:
        name = self.names[event] or ""
        self._take(self.start[event], self.classes[event], name, event)
        launched = self.launch_start[event] if self.launch[event] >= 0 else self.low
        before = self.before[event]
        waited = self.end[before] if before >= 0 else self.low
        bound_by = max(launched, waited)
        if self.at - bound_by >= KERNEL_GAP_NS:
            other = self._ended_by(self.at)
            if other >= 0 and other != event and self.end[other] > bound_by:
                self.inferred += 1
                self._take(self.end[other], "dependency", name, event)
                return other, -1
        if launched >= waited:
            self._take(min(launched, self.at), "launch", name, event)
            return -1, self.launch[event]
        self._take(waited, "kernel_gap", name, event)
        return before, -1

    def _on_host(self, led_to: int) -> tuple[int, int]:
        """Back to the last call that waited for the device, or to the window's start."""
        at = min(bisect_right(self.call_end, self.at), self.next_call) - 1
        while at >= 0 and self.call_end[at] > self.low:
            event = self._ended_by(self.call_end[at])
            if event >= 0 and self.end[event] > self.call_start[at]:
                name = self.call_names[self.call_rows[at]] or ""
                self._take(self.call_end[at], "cpu", self._leading_to(led_to), led_to)
                self._take(self.end[event], "sync", name, self.call_rows[at])
                self.next_call = at
                return event, -1
            at -= 1  # the device had finished before the call: it cost the host its own time only
        self._take(self.low, "cpu", self._leading_to(led_to), led_to)
        return -1, led_to

    def _leading_to(self, launch: int) -> str:
        return f"before {self.call_names[launch]}" if launch >= 0 else "at the end"

    def _ended_by(self, moment: int) -> int:
        """The event that ended last, not after `moment`; -1 when none did."""
        at = bisect_right(self.ends, moment) - 1
        return self.by_end[at] if at >= 0 else -1


def _previous_in_stream(work: Work) -> list[int]:
    """For each event the one before it in its stream that ends last; -1 for the first."""
    before = np.full(len(work), -1, np.int64)
    key = (work.process.astype(np.int64) << 40) ^ (work.device.astype(np.int64) << 32) ^ work.stream
    for value in np.unique(key):
        rows = np.flatnonzero(key == value)
        reach = np.maximum.accumulate(work.end[rows])
        # Row that holds the running maximum so far.
        holder = np.maximum.accumulate(np.where(work.end[rows] == reach, np.arange(len(rows)), 0))
        before[rows[1:]] = rows[holder[:-1]]
        # An event that starts inside a longer one does not wait for it: they overlap by intention.
        inside = work.end[rows[holder[:-1]]] > work.start[rows[1:]]
        before[rows[1:][inside]] = -1
    result: list[int] = before.tolist()
    return result
