"""Events of one family with their times on the epoch clock, and what had to be left out.

Enters: a `NativeTrace`. Leaves: `Events`, whose rows all have plausible times.
A time is left out, and counted, when it lies a week or more from the median (a
kernel that the driver gave no time starts at 0), a duration when it is a day or
longer: one such row would stretch every window of the analysis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.columns import Array, Text
from sonde.ingest.kineto.trace_library import DEVICE, INSTANTS, LAUNCHES, OPS, OTHERS, NativeTrace

WEEK_NS = 7 * 86_400 * 10**9
DAY_NS = 86_400 * 10**9
LATEST_NS = 1 << 61  # of a time in the file and of its base: the sum of both is still a time
_MEDIAN_ROWS = 20_000


@dataclass(frozen=True)
class Events:
    """Rows of one family; `kept` are their rows in the native store, None when all are."""

    family: int
    kept: Array | None
    track: Array
    category: Text
    name: Text
    start_ns: Array
    end_ns: Array

    def __len__(self) -> int:
        return len(self.track)

    def restrict(self, column: Array) -> Array:
        """A column of the native store for the rows kept."""
        return column if self.kept is None else column[self.kept]


@dataclass(frozen=True)
class Clock:
    """What turns a time of the file into nanoseconds of the epoch, and which are plausible."""

    base_ns: Array  # by track
    median_ns: int


def clock_of(trace: NativeTrace, base_by_document: dict[int, int]) -> Clock:
    """The clock of a trace: its base time per document and the median of all starts."""
    documents = trace.tracks("document")
    base = np.zeros(len(documents), np.int64)
    for document, base_ns in base_by_document.items():
        base[documents == document] = base_ns
    families: tuple[int, ...] = (OPS, LAUNCHES, DEVICE)
    if not any(trace.rows(f) for f in families):
        families = (INSTANTS, OTHERS)
    starts = []
    for family in families:
        # Some thousand rows, spread over the file, tell the middle well enough to judge weeks by.
        spread = slice(None, None, max(1, trace.rows(family) // _MEDIAN_ROWS))
        track = trace.column(family, "track")[spread]
        start, known = _starts(trace.column(family, "start_ns")[spread], base[track])
        starts.append(start if known is None else start[known])
    joined = np.concatenate(starts)
    median = int(np.partition(joined, len(joined) // 2)[len(joined) // 2]) if len(joined) else 0
    return Clock(base, median)


def _starts(of_file: Array, base_ns: Array) -> tuple[Array, Array | None]:
    """Times of the epoch, 0 for what no clock shows, and which rows have one; None when all have."""
    if not len(of_file) or -LATEST_NS <= int(of_file.min()) <= int(of_file.max()) <= LATEST_NS:
        return of_file + base_ns, None
    known = (of_file >= -LATEST_NS) & (of_file <= LATEST_NS)
    return np.where(known, of_file, 0) + np.where(known, base_ns, 0), known


def events_of(trace: NativeTrace, family: int, clock: Clock, lost: dict[str, int]) -> Events:
    """The events of `family` with plausible times; what is left out is added to `lost` by cause."""
    track = trace.column(family, "track")
    start, known = _starts(trace.column(family, "start_ns"), clock.base_ns[track])
    duration = trace.column(family, "duration_ns")
    kept: Array | None = None
    if len(start):
        far = (int(start.max()) - clock.median_ns >= WEEK_NS) or (
            clock.median_ns - int(start.min()) >= WEEK_NS
        )
        if far or known is not None or int(duration.max()) >= DAY_NS:
            is_far = np.abs(start - clock.median_ns) >= WEEK_NS
            if known is not None:
                is_far |= ~known
            is_long = (duration >= DAY_NS) & ~is_far
            lost["time_out_of_range"] = lost.get("time_out_of_range", 0) + int(is_far.sum())
            lost["absurd_duration"] = lost.get("absurd_duration", 0) + int(is_long.sum())
            kept = np.flatnonzero(~is_far & ~is_long)
            track, start, duration = track[kept], start[kept], duration[kept]
    category, name = trace.column(family, "category"), trace.column(family, "name")
    if kept is not None:
        category, name = category[kept], name[kept]
    return Events(family, kept, track.copy(), trace.text(category), trace.text(name), start, start + duration)
