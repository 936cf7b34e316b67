"""Why a device or a stream is idle between two events.

Enters: `Work`, `launches`. Leaves: `IdleSplit` per stream and per device.
A gap runs from the latest end so far to the next start (never negative: the latest end is a
running maximum, so an event inside a longer one opens no gap). Let L be the launch of the
event that ends the gap:
    sync      the part of a host-bound gap in which the launching thread sat in a synchronising call
    host      the launch began after the gap did: the device waited for the host to ask
    kernel    the launch was already queued, and the gap is below 30 µs: the device's own turn-around
    other     queued yet longer (waiting for another stream or an event), or the launch is unknown
The four add up to the idle time exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import Spans, Times, union
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import by_name
from sonde.columns import Array, Table, distinct, median

_AT_ONCE = re.compile(r"Wait(Event|Value|External)|Query", re.IGNORECASE)
EDGE_SHARE, EDGE_TIMES = (
    0.05,
    20,
)  # of the events, and of the median gap: a gap there, so long, is no steady state
KERNEL_GAP_NS = 30_000  # the turn-around that HTA, too, takes as normal between queued kernels


@dataclass(frozen=True)
class IdleSplit:
    """Idle time of one stream (or of a device: stream None) inside first start … last end."""

    process: int
    device: int
    stream: int | None
    gaps: int
    host_ns: int
    kernel_ns: int
    sync_ns: int
    other_ns: int
    edge_ns: int = 0  # of host_ns: long gaps at the start and the end, where the trace was begun and ended

    @property
    def idle_ns(self) -> int:
        return self.host_ns + self.kernel_ns + self.sync_ns + self.other_ns


@dataclass(frozen=True)
class Gaps:
    """The gaps of one queue, ascending: `event` is the row in `Work` of the event that ends each."""

    start: Times
    end: Times
    event: Array


def gaps(work: Work) -> Gaps:
    """The stretches between the events (of one stream, or of all streams of one device)."""
    if len(work) < 2:
        none = np.empty(0, np.int64)
        return Gaps(none, none, none)
    reach = np.maximum.accumulate(work.end)
    at = np.flatnonzero(work.start[1:] > reach[:-1]) + 1
    return Gaps(reach[at - 1], work.start[at], at)


def idle_splits(work: Work, launches: Table) -> list[IdleSplit]:
    """Per stream, and per device with stream None, in that order."""
    waits = sync_spans(launches)
    rows = []
    for process, device in work.devices():
        here = work.on(process, device)
        for stream in here.streams():
            rows.append(_split(here.take(here.stream == stream), launches, waits, process, device, stream))
        rows.append(_split(here, launches, waits, process, device, None))
    return rows


def sync_spans(launches: Table) -> dict[int, Spans]:
    """Per thread, the time spent inside calls that wait for the device."""
    rows = np.flatnonzero(waits_for_device(launches))
    thread = launches.array("thread")[rows]
    start, end = launches.array("start_ns")[rows], launches.array("end_ns")[rows]
    return {int(t): union(start[thread == t], end[thread == t]) for t in distinct(thread)}


def waits_for_device(launches: Table) -> Array:
    """Mask of the synchronising calls that block the host.

    Not those that only order streams (cudaStreamWaitEvent) or only ask (cudaEventQuery): both return at once.
    """
    return np.asarray(
        launches.text("kind").equals("sync")
        & ~by_name(launches.text("name"), lambda n: bool(_AT_ONCE.search(n)))
    )


def causes(work: Work, found: Gaps) -> tuple[Array, Array, Array]:
    """Masks over the gaps: host-bound, kernel turn-around, other."""
    launch_start = work.launch_start[found.event]
    linked = work.launched[found.event]
    host = linked & (launch_start > found.start)
    kernel = linked & ~host & (found.end - found.start < KERNEL_GAP_NS)
    return host, kernel, ~(host | kernel)


def _split(
    work: Work, launches: Table, waits: dict[int, Spans], process: int, device: int, stream: int | None
) -> IdleSplit:
    found = gaps(work)
    length = found.end - found.start
    host, kernel, other = causes(work, found)
    sync_ns = 0
    if host.any() and waits:
        thread = launches.array("thread")[work.launch[found.event[host]]]
        until = np.minimum(work.launch_start[found.event[host]], found.end[host])
        for owner, spans in waits.items():
            mine = thread == owner
            sync_ns += int(spans.within(found.start[host][mine], until[mine]).sum())
    return IdleSplit(
        process,
        device,
        stream,
        len(length),
        host_ns=int(length[host].sum()) - sync_ns,
        kernel_ns=int(length[kernel].sum()),
        sync_ns=sync_ns,
        other_ns=int(length[other].sum()),
        edge_ns=max(int(length[host & at_the_edges(found, len(work))].sum()) - sync_ns, 0),
    )


def at_the_edges(found: Gaps, events: int) -> Array:
    """Gaps among the first or last few events that are far longer than others."""
    length = found.end - found.start
    if not len(length):
        return np.zeros(0, np.bool_)
    outer = (found.event <= EDGE_SHARE * events) | (found.event >= (1 - EDGE_SHARE) * events)
    return np.asarray(outer & (length > EDGE_TIMES * max(median(length), 1.0)))
