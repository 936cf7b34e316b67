"""Waits for CUDA events: which stream each waits for, where the profiler says so.

Enters: `kernels` (rows of kind sync). Leaves: `EventWait` per row.
A profiler tells the awaited stream and the record call only when it saw the event being recorded. Without
them a dependency between streams cannot be followed, only inferred from times, so the number of unresolved
waits says how far a critical path may be trusted. (Kineto before 2026-04 lost them when the records arrived
out of order; its documentation shows the pair of traces.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde import json_text
from sonde.columns import Table


@dataclass(frozen=True)
class EventWait:
    """One wait of a stream or of the host for an event."""

    kind: str  # Event Sync (the host waits) or Stream Wait Event (a stream waits)
    stream: int  # the stream that waits, -1 when the host does
    awaits_stream: int  # the stream it waits for, -1 when the profiler does not tell
    record_correlation: int  # the call that recorded the event, -1 when not told
    start_ns: int
    end_ns: int

    @property
    def resolved(self) -> bool:
        return self.awaits_stream >= 0 and self.record_correlation >= 0


def event_waits(kernels: Table) -> list[EventWait]:
    """All waits for events, in order of start."""
    extra = kernels.text("extra")
    parsed = [json_text.object_of(value) for value in extra.values]
    rows = []
    for row in np.flatnonzero(kernels.text("kind").equals("sync")).tolist():
        code = int(extra.codes[row])
        args = parsed[code] if code >= 0 else {}
        if "wait_on_cuda_event_id" not in args and "wait_on_stream" not in args:
            continue
        rows.append(
            EventWait(
                kind=kernels.text("name")[row] or "",
                stream=int(kernels.array("stream")[row]),
                awaits_stream=json_text.whole(args.get("wait_on_stream")),
                record_correlation=json_text.whole(args.get("wait_on_cuda_event_record_corr_id")),
                start_ns=int(kernels.array("start_ns")[row]),
                end_ns=int(kernels.array("end_ns")[row]),
            )
        )
    return sorted(rows, key=lambda w: w.start_ns)
