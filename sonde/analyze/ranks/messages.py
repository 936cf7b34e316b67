"""How long the ranks of a pipeline stand still for sends and receives, and which of them sets the pace.

Enters: `collectives`, and the steps of each rank. Leaves: `Messages`. Every stage of a pipeline is last somewhere, so
who comes late tells nothing there; but the stage that waits least of all is the one that the others wait for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.ranks.lateness import FEWEST, MIN_SHARE
from sonde.analyze.steps.program import StepReport
from sonde.columns import Array, Table

LEAST = 0.5  # of the median of the others: a rank that waits less sets the pace


@dataclass(frozen=True)
class Messages:
    """Means over the steps that are steady on every rank."""

    waiting_ns: dict[int, float]  # rank → per step; empty where there were no messages, or too few steps
    pace: int  # the rank that the others wait for, -1: none


def messages(
    calls: Table, marks: Table, reports: list[StepReport], rank_of: dict[int, int], steps: Array
) -> Messages:
    """`steps`: numbers of the steps that are compared."""
    message = calls.text("kind").equals("send") | calls.text("kind").equals("receive")
    if len(steps) < FEWEST or not message.any():
        return Messages({}, -1)
    number_of_mark = dict(zip(marks.array("mark").tolist(), marks.array("number").tolist(), strict=True))
    numbers = np.array([number_of_mark.get(m, -1) for m in calls.array("step").tolist()], np.int64)
    inside = message & np.isin(numbers, steps)
    waited, process = np.maximum(calls.array("waited_ns"), 0), calls.array("process")
    found = {
        rank: float(waited[inside & (process == number)].sum()) / len(steps)
        for number, rank in rank_of.items()
        if (message & (process == number)).any()
    }
    lengths = [
        float(np.mean([s.duration_ns for s in r.steps if s.index in set(steps.tolist())])) for r in reports
    ]
    return Messages(found, _pace(found, float(np.median(lengths))))


def _pace(waiting: dict[int, float], step_ns: float) -> int:
    if len(waiting) < 2:
        return -1
    least = min(waiting, key=lambda rank: waiting[rank])
    others = float(np.median([ns for rank, ns in waiting.items() if rank != least]))
    return (
        least if waiting[least] <= LEAST * others and others - waiting[least] >= MIN_SHARE * step_ns else -1
    )
