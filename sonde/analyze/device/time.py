"""Where the time of a device goes: compute, communication, copy, idle.

Enters: `Work` and a window. Leaves: one `DeviceTime` per device, one `StreamTime` per stream.
Formulas, all over one window W (by default first start to last end of the device's events):
    busy = |∪ all events|          idle = |W| − busy
    compute, communication, copy = |∪ events of the class|   (they may overlap each other)
    overlap = |∪ communication ∩ ∪ compute|, exposed = communication − overlap
    utilisation = busy / |W|
    SM efficiency = Σ over time of min(blocks per SM, 1) of the fullest kernel running / |W|
    occupancy = Σ occupancy·duration / Σ duration, over kernels whose occupancy is known
    tensor-core share = duration of kernels with tensor-core names / duration of kernels
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import Spans, intersect, subtract, union, window
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import COMMUNICATION, COMPUTE, COPY, by_name, uses_tensor_cores
from sonde.columns import Array, Table, distinct


@dataclass(frozen=True)
class DeviceTime:
    """Time of one device in one window. Shares are 0..1; None means the trace does not say."""

    process: int
    device: int
    events: int
    start_ns: int
    end_ns: int
    busy_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    overlap_ns: int
    sm_efficiency: float | None
    occupancy: float | None
    tensor_core_share: float | None

    @property
    def window_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def idle_ns(self) -> int:
        return self.window_ns - self.busy_ns

    @property
    def exposed_communication_ns(self) -> int:
        return self.communication_ns - self.overlap_ns

    @property
    def utilisation(self) -> float:
        return self.busy_ns / self.window_ns if self.window_ns else 0.0


@dataclass(frozen=True)
class StreamTime:
    """Time of one stream in its device's window."""

    process: int
    device: int
    stream: int
    events: int
    busy_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int


def device_times(
    work: Work, kernels: Table, start_ns: int | None = None, end_ns: int | None = None
) -> list[DeviceTime]:
    """One row per device. Without a window, each device has its own: first start to last end."""
    rows = []
    for process, device in work.devices():
        mine = work.on(process, device)
        low = int(mine.start[0]) if start_ns is None else start_ns
        high = int(mine.end.max()) if end_ns is None else end_ns
        rows.append(_device_time(mine, kernels, process, device, low, high))
    return rows


def stream_times(work: Work) -> list[StreamTime]:
    """One row per stream of each device."""
    rows = []
    for process, device in work.devices():
        here = work.on(process, device)
        for stream in here.streams():
            mine = here.take(here.stream == stream)
            split = class_spans(mine)
            rows.append(
                StreamTime(
                    process,
                    device,
                    stream,
                    len(mine),
                    mine.spans().total_ns,
                    *(split[c].total_ns for c in (COMPUTE, COMMUNICATION, COPY)),
                )
            )
    return rows


def class_spans(work: Work) -> dict[int, Spans]:
    """The time of each class of work."""
    return {c: work.of_class(c).spans() for c in (COMPUTE, COMMUNICATION, COPY)}


def exposed_communication(work: Work) -> Spans:
    """The time in which communication runs and no computation does."""
    split = class_spans(work)
    return subtract(split[COMMUNICATION], split[COMPUTE])


def _device_time(work: Work, kernels: Table, process: int, device: int, low: int, high: int) -> DeviceTime:
    frame = window(low, high)
    split = {c: intersect(s, frame) for c, s in class_spans(work).items()}
    is_kernel = kernels.text("kind").equals("kernel")[work.row]
    only = work.take(is_kernel & (work.end > low) & (work.start < high))
    clipped = np.minimum(only.end, high) - np.maximum(only.start, low)
    total = int(clipped.sum())
    cores = int(clipped[by_name(only.name, uses_tensor_cores)].sum())
    return DeviceTime(
        process=process,
        device=device,
        events=int(((work.end > low) & (work.start < high)).sum()) if len(frame) else len(work),
        start_ns=low,
        end_ns=high,
        busy_ns=intersect(work.spans(), frame).total_ns,
        compute_ns=split[COMPUTE].total_ns,
        communication_ns=split[COMMUNICATION].total_ns,
        copy_ns=split[COPY].total_ns,
        overlap_ns=intersect(split[COMMUNICATION], split[COMPUTE]).total_ns,
        sm_efficiency=sm_efficiency(only, kernels.array("blocks_per_sm")[only.row], low, high),
        occupancy=_weighted(kernels.array("occupancy")[only.row], clipped),
        tensor_core_share=cores / total if total else None,
    )


def sm_efficiency(work: Work, blocks_per_sm: Array, low: int, high: int) -> float | None:
    """Share of multiprocessors that have at least one block, over the window; None when blocks are unknown.

    Where kernels of several streams run at once, the fullest counts: blocks of two kernels may
    share a multiprocessor, so their sum would claim more than the device has.
    """
    known = np.isfinite(blocks_per_sm) & (blocks_per_sm > 0)
    if not known.any() or high <= low:
        return None
    level = np.minimum(blocks_per_sm[known], 1.0)
    start, end = work.start[known], work.end[known]
    values = distinct(level)
    if len(values) > 4096 or not _overlapping(start, end):
        clipped = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
        return float((level * clipped).sum() / (high - low))
    # ∫ max level dt = Σ over distinct levels of (level − next lower level) · |∪ kernels at or above it|.
    total, below = 0.0, 0.0
    frame = window(low, high)
    for value in values.tolist():
        at_least = level >= value
        total += (value - below) * intersect(union(start[at_least], end[at_least]), frame).total_ns
        below = value
    return total / (high - low)


def _overlapping(start: Array, end: Array) -> bool:
    return bool(len(start) > 1 and (start[1:] < np.maximum.accumulate(end)[:-1]).any())


def _weighted(values: Array, weights: Array) -> float | None:
    known = np.isfinite(values) & (weights > 0)
    if not known.any():
        return None
    return float((values[known] * weights[known]).sum() / weights[known].sum())
