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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sonde.analyze.device.events import Work
from sonde.analyze.device.idle import KERNEL_GAP_NS
from sonde.analyze.device.kernel_names import CLASSES
from sonde.analyze.device.syncs import blocking_calls
from sonde.columns import Array, Table, distinct

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
    # (start, bound, event), latest first: each ends where the one before it starts. Names are made when asked for.
    links: Sequence[tuple[int, str, int]]
    inferred: int  # dependencies between streams that were inferred from times
    named: Callable[[str, int], str]

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        ends = [self.end_ns, *(link[0] for link in self.links)]
        made = [
            Stretch(start, end, bound, self.named(bound, event), event)
            for (start, bound, event), end in zip(self.links, ends, strict=False)
        ]
        return tuple(reversed(made))

    @property
    def by_bound_ns(self) -> dict[str, int]:
        total = dict.fromkeys(BOUNDS, 0)
        end = self.end_ns
        for start, bound, _ in self.links:
            total[bound] += end - start
            end = start
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
    links, inferred = _walk(mine, _Calls.of(mine, launches), start_ns, end_ns)
    event_names, call_names = mine.name, launches.text("name")

    def named(bound: str, event: int) -> str:
        if bound == "cpu":
            return f"before {call_names[event]}" if event >= 0 else "at the end"
        return (call_names if bound == "sync" else event_names)[event] or ""

    return CriticalPath(start_ns, end_ns, links, inferred, named)


@dataclass(frozen=True)
class _Calls:
    """The calls in which the host waited for the device, by their end."""

    row: list[int]
    start: list[int]
    end: list[int]

    @classmethod
    def of(cls, work: Work, launches: Table) -> _Calls:
        rows = blocking_calls(work, launches)
        rows = rows[np.argsort(launches.array("end_ns")[rows], kind="stable")]
        times = (launches.array(name)[rows].tolist() for name in ("start_ns", "end_ns"))
        return cls(rows.tolist(), *times)


def _walk(work: Work, calls: _Calls, low: int, high: int) -> tuple[list[tuple[int, str, int]], int]:
    """The links, latest first, and how many dependencies were inferred.

    One loop over plain lists that asks single elements: it is taken once per event of the path.
    """
    start, end, launch = work.start.tolist(), work.end.tolist(), work.launch.tolist()
    previous = _previous_in_stream(work)
    launched_at = np.where(work.launched, work.launch_start, low)
    waited_until = np.where(previous >= 0, work.end[previous], low) if len(work) else launched_at
    bound_by = np.maximum(launched_at, waited_until).tolist()
    launched, waited, before = launched_at.tolist(), waited_until.tolist(), previous.tolist()
    order = np.argsort(work.end, kind="stable")
    by_end, ends = order.tolist(), work.end[order].tolist()
    classes = [CLASSES[c] for c in work.kind_class.tolist()]
    call_ends, call_starts, call_rows = calls.end, calls.start, calls.row

    links: list[tuple[int, str, int]] = []
    at, inferred, led_to = high, 0, -1
    next_call = len(call_rows)  # calls from here on are behind the walk: none is passed twice
    # Begin with the event that ends with the window; without one the host was the last to finish.
    event = by_end[-1] if ends and ends[-1] >= high else -1
    while at > low:
        if (
            event < 0
        ):  # on the host: back to the last call that waited for the device, or to the window's start
            call = min(bisect_right(call_ends, at), next_call) - 1
            while call >= 0 and call_ends[call] > low:
                ended = bisect_right(ends, call_ends[call]) - 1
                if ended >= 0 and ends[ended] > call_starts[call]:
                    event = by_end[ended]
                    break
                call -= 1  # the device had finished before the call: it cost the host its own time only
            until = call_ends[call] if event >= 0 else low
            if until < at:
                links.append((until, "cpu", led_to))
                at = until
            if event >= 0:
                until = max(end[event], low)
                if until < at:
                    links.append((until, "sync", call_rows[call]))
                    at = until
                next_call, led_to = call, -1
            continue
        if start[event] < at:
            at = start[event]
            links.append((at, classes[event], event))
        bound = bound_by[event]
        if at - bound >= KERNEL_GAP_NS:
            ended = bisect_right(ends, at) - 1
            if ended >= 0 and by_end[ended] != event and ends[ended] > bound:
                inferred += 1
                if ends[ended] < at:
                    at = ends[ended]
                    links.append((at, "dependency", event))
                event = by_end[ended]
                continue
        if launched[event] >= waited[event]:
            until = max(launched[event], low)
            if until < at:
                links.append((until, "launch", event))
                at = until
            event, led_to = -1, launch[event]
        else:
            if waited[event] < at:
                at = waited[event]
                links.append((at, "kernel_gap", event))
            event = before[event]
    return links, inferred


def _previous_in_stream(work: Work) -> Array:
    """For each event the one before it in its stream that ends last; -1 for the first."""
    before = np.full(len(work), -1, np.int64)
    key = (work.process.astype(np.int64) << 40) ^ (work.device.astype(np.int64) << 32) ^ work.stream
    for value in distinct(key):
        rows = np.flatnonzero(key == value)
        reach = np.maximum.accumulate(work.end[rows])
        # Row that holds the running maximum so far.
        holder = np.maximum.accumulate(np.where(work.end[rows] == reach, np.arange(len(rows)), 0))
        before[rows[1:]] = rows[holder[:-1]]
        # An event that starts inside a longer one does not wait for it: they overlap by intention.
        inside = work.end[rows[holder[:-1]]] > work.start[rows[1:]]
        before[rows[1:][inside]] = -1
    return before
