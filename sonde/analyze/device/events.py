"""The work of devices as plain arrays, each event beside the call that launched it.

Enters: the tables `kernels` and `launches`. Leaves: `Work`, sorted by start, without
annotations (drawn for people) and without synchronisation (waiting is not work).
Every analysis of a device starts from here, so all agree on what counts as an event.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.intervals import Spans, Times, union
from sonde.analyze.device.kernel_names import COMMUNICATION, COMPUTE, COPY, SYNC, classes
from sonde.columns import Array, Table, Text, distinct

NONE = -1
NO_TIME = np.iinfo(np.int64).min  # launch times of an event whose launch is not in the trace


@dataclass(frozen=True)
class Work:
    """Kernels, copies and sets, ascending by start. `row` points back into `kernels`."""

    row: Array
    process: Array
    device: Array
    stream: Array
    start: Times
    end: Times
    kind_class: Array  # code of sonde.analyze.kernel_names.CLASSES
    name: Text
    launch: Array  # row in `launches`, -1 when none
    launch_start: Times  # NO_TIME when none
    launch_end: Times
    op: Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Array) -> Work:
        """The events given by a mask or ascending indices."""
        picked: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            picked[field.name] = column.take(rows) if isinstance(column, Text) else column[rows]
        return Work(**picked)

    @cached_property
    def launched(self) -> npt.NDArray[np.bool_]:
        """Events whose launch is in the trace."""
        return np.asarray(self.launch >= 0)

    @property
    def durations(self) -> Times:
        return self.end - self.start

    def of_class(self, code: int) -> Work:
        return self.take(self.kind_class == code)

    def spans(self) -> Spans:
        """The time in which at least one of the events runs."""
        return union(self.start, self.end)

    def devices(self) -> list[tuple[int, int]]:
        """(process, device) pairs, ascending."""
        key = (self.process.astype(np.int64) << 32) | (self.device.astype(np.int64) & 0xFFFFFFFF)
        _, first = np.unique(key, return_index=True)
        return sorted((int(self.process[i]), int(self.device[i])) for i in first)

    def on(self, process: int, device: int) -> Work:
        mine = (self.process == process) & (self.device == device)
        return self if mine.all() else self.take(mine)

    def streams(self) -> list[int]:
        return [int(s) for s in distinct(self.stream)]


def device_work(kernels: Table, launches: Table) -> Work:
    """The events of all devices that are work: kernels, copies and sets."""
    code = classes(kernels)
    keep = np.flatnonzero((code == COMPUTE) | (code == COMMUNICATION) | (code == COPY))
    return _gather(kernels, launches, keep, code)


def device_syncs(kernels: Table, launches: Table) -> Work:
    """The synchronisation rows that a profiler draws on streams."""
    code = classes(kernels)
    return _gather(kernels, launches, np.flatnonzero(code == SYNC), code)


def _gather(kernels: Table, launches: Table, keep: Array, code: Array) -> Work:
    start = kernels.array("start_ns")[keep]
    order = np.argsort(start, kind="stable")
    keep = keep[order]
    launch = rows_of(launches.array("launch"), kernels.array("launch")[keep])
    linked = launch >= 0
    launch_start = np.full(len(keep), NO_TIME, np.int64)
    launch_end = launch_start.copy()
    launch_start[linked] = launches.array("start_ns")[launch[linked]]
    launch_end[linked] = launches.array("end_ns")[launch[linked]]
    return Work(
        row=keep,
        process=kernels.array("process")[keep],
        device=kernels.array("device")[keep],
        stream=kernels.array("stream")[keep],
        start=start[order],
        end=np.maximum(kernels.array("end_ns")[keep], start[order]),
        kind_class=code[keep],
        name=kernels.text("name").take(keep),
        launch=launch,
        launch_start=launch_start,
        launch_end=launch_end,
        op=kernels.array("op")[keep],
    )
