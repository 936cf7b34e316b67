"""CUDA and HIP graphs: how often they are launched, and how much of the device's work they replay.

Enters: `Work`, `kernels`, `launches`. Leaves: `GraphUse`.
An event is of a graph when the profiler gives it a graph id (CUDA), or when the call that launched it is a
graph launch (HIP gives no id). Graph work has no operator of its own: one call starts hundreds of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.device.events import Work
from sonde.columns import Array, Table, distinct


@dataclass(frozen=True)
class GraphUse:
    """What graphs do in a trace; all zero when it has none."""

    graphs: int  # distinct graph ids, 0 where the profiler tells none
    launches: int  # calls that start a whole graph
    events: int
    device_ns: int
    share: float  # of the summed time of all device events


def graph_use(work: Work, kernels: Table, launches: Table) -> GraphUse:
    """Graph work of all devices."""
    mine = graph_rows(work, kernels, launches)
    ids = kernels.array("graph")[work.row[mine]]
    length = work.durations
    whole = int(length.sum())
    spent = int(length[mine].sum())
    return GraphUse(
        graphs=len(distinct(ids[ids > 0])),
        launches=int(_launches_graph(launches).sum()),
        events=int(mine.sum()),
        device_ns=spent,
        share=spent / whole if whole else 0.0,
    )


def graph_rows(work: Work, kernels: Table, launches: Table) -> Array:
    """Mask of the events that a graph replays."""
    replayed = np.asarray(kernels.array("graph")[work.row] > 0)
    return np.asarray(replayed | np.append(_launches_graph(launches), False)[work.launch])


def _launches_graph(launches: Table) -> Array:
    names = launches.text("name")
    return names.where("GraphLaunch" in n for n in names.values)
