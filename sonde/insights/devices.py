"""Figures of all devices of a trace as shares of their windows: what the device rules share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sonde.analyze.ranks.summary import DeviceSummary, RankSummary
from sonde.insights.model import NotEnough, Saving
from sonde.insights.subject import Subject


def devices(subject: Subject) -> list[DeviceSummary]:
    """Devices that ran anything for any time; NotEnough when there are none."""
    found = [d for r in subject.gpu.ranks for d in r.devices if d.time.window_ns > 0]
    if not found:
        raise NotEnough("all device events have zero duration")
    return found


def mean_share(subject: Subject, figure: Callable[[DeviceSummary], float]) -> float:
    """Mean over the devices of a figure in nanoseconds, as a share of each device's window."""
    return float(np.mean([figure(d) / d.time.window_ns for d in devices(subject)]))


def mean_rank_share(subject: Subject, figure: Callable[[RankSummary], float]) -> float:
    """The same of a figure of whole ranks."""
    ranks = [r for r in subject.gpu.ranks if any(d.time.window_ns > 0 for d in r.devices)]
    if not ranks:
        raise NotEnough("all device events have zero duration")
    return float(np.mean([figure(r) / sum(d.time.window_ns for d in r.devices) for r in ranks]))


def device_saving(subject: Subject, low_share: float, high_share: float) -> Saving:
    """A saving as shares of the step."""
    step = subject.step_ms
    return Saving(max(low_share, 0.0) * step, min(high_share, 0.99) * step, step)
