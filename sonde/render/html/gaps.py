"""The longest stretches in which a device was idle → the page: when, why, which event ended each.

Cause and length are those of `sonde.analyze.device.idle`, whose sums `show gpu` prints; of a host-bound gap that a
synchronising call fills for the most part the cause is that call.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.device.events import device_work
from sonde.analyze.device.idle import causes, gaps, sync_spans
from sonde.columns import Array, Table
from sonde.render.html.payload import Payload

# Order is the order of the codes in the page (web/src/calc/details/gap.ts).
CAUSES = ("host", "sync", "kernel", "other")
MOST = 1000  # of one device


def add_gaps(
    payload: Payload, every: Table, kernels: Table, launches: Table, kept: Array, origin_ns: int
) -> None:
    """`every` are all device events, `kernels` those without annotations, `kept` the rows of these in the page."""
    work = device_work(every, launches)
    page_row = np.full(len(every) + 1, -1, np.int64)
    page_row[np.flatnonzero(~every.text("kind").equals("annotation"))[kept]] = np.arange(len(kept))
    waits = sync_spans(launches)
    names = ("process", "device", "start", "duration", "cause", "next", "thread")
    parts: dict[str, list[Array]] = {name: [] for name in names}
    for process, device in work.devices():
        here = work.on(process, device)
        found = gaps(here)
        length = found.end - found.start
        top = np.argsort(-length, kind="stable")[:MOST]
        host, kernel, _ = causes(here, found)
        cause = np.where(host, 0, np.where(kernel, 2, 3)).astype(np.int64)
        launch = here.launch[found.event]
        thread = np.where(launch >= 0, np.append(launches.array("thread"), -1)[launch], -1).astype(np.int64)
        for owner, spans in waits.items():
            mine = np.flatnonzero(host & (thread == owner))
            until = np.minimum(here.launch_start[found.event[mine]], found.end[mine])
            inside = spans.within(found.start[mine], until)
            cause[mine[inside * 2 > length[mine]]] = 1
        values = {
            "process": np.full(len(top), process, np.int64),
            "device": np.full(len(top), device, np.int64),
            "start": found.start[top] - origin_ns,
            "duration": length[top],
            "cause": cause[top],
            "next": page_row[here.row[found.event[top]]],
            "thread": thread[top],
        }
        for name, column in values.items():
            parts[name].append(column)
    payload.add(
        "gaps",
        **{name: np.concatenate(lists) if lists else np.zeros(0, np.int64) for name, lists in parts.items()},
    )
