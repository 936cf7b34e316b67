"""Transfers that a rank held up: the threads that carry its data were ready, but off the CPU.

Enters: `Shared`, `samples`, `threads`. Leaves: `Held`: of each collective, the rank whose threads lost most, and how
much longer the transfer was for it. A rank under a CPU quota is as likely to be stopped inside a transfer as on its way
to one; all ranks then leave the collective late, and nobody was last to come.

The agent knows how much was taken from a thread between two of its looks, not when. Those threads have nothing to do
outside of transfers, so what a look found is spread over the transfers within it, and is never more than they.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.ranks.shared import Shared
from sonde.analyze.recording.taken_away import Pieces, pieces_of
from sonde.columns import Array, Table

CARRIERS = ("gloo_tcp_loop", "pt_gloo_runloop")  # names of gloo's and torch's threads that carry data
QUOTA = 0.5  # of the lateness: a control group that stood still for so long is the reason


@dataclass(frozen=True)
class Held:
    """One entry per collective of `Shared`. Arrays `taken_ns` are (ranks × calls)."""

    row: Array  # in `Shared.ranks`
    ns: Array  # how much more its threads lost during the transfer than the median of the others
    taken_ns: Array


def held(shared: Shared, samples: Table, threads: Table, rank_of: dict[int, int]) -> Held:
    """`rank_of`: process → rank."""
    taken = np.zeros(shared.queued.shape)
    name = threads.text("name").tolist()
    carriers = [
        (thread, rank_of.get(process, -1))
        for thread, process, called in zip(
            threads.array("thread").tolist(), threads.array("process").tolist(), name, strict=True
        )
        if called in CARRIERS
    ]
    for thread, rank in carriers:
        if rank in shared.ranks:
            row = shared.ranks.index(rank)
            calls = np.flatnonzero(shared.member[row] & (shared.transfer_ns[row] > 0))
            begin, end = shared.last_ns[calls], shared.end[row, calls]
            lost = _within_transfers(pieces_of(samples, thread), begin, end)
            # Several threads that are stopped at once are one stop.
            taken[row, calls] = np.maximum(taken[row, calls], lost)
    if not len(shared):
        return Held(np.zeros(0, np.int64), np.zeros(0), taken)
    here = np.where(shared.member, taken, -1.0)
    row = here.argmax(axis=0)
    others = np.where(shared.member, taken, np.nan)
    others[row, np.arange(len(shared))] = np.nan
    most = here.max(axis=0)
    beside = np.array([float(np.median(c[~np.isnan(c)])) if (~np.isnan(c)).any() else 0.0 for c in others.T])
    return Held(row, np.maximum(most - beside, 0.0), taken)


def _within_transfers(pieces: Pieces, begin: Array, end: Array) -> Array:
    """What was taken in each transfer, when nothing was taken outside of them."""
    if not len(begin) or not len(pieces.weight):
        return np.zeros(len(begin))
    busy = union(begin, end)
    start, stop = busy.until(pieces.start), busy.until(pieces.end)
    some = stop > start
    length = (stop - start)[some]
    squeezed = Pieces(start[some], stop[some], np.minimum(pieces.weight[some], length))
    return squeezed.within(busy.until(begin), busy.until(end)).astype(float)


def throttled_ns(marks: Table, process: int) -> float:
    """For how long the control group of a process stood still, its quota used up; 0 where that is not told."""
    rows = np.flatnonzero(marks.text("kind").equals("settings") & (marks.array("process") == process))
    for text in marks.text("extra").take(rows).tolist():
        try:
            told = json.loads(text or "{}").get("scheduling", {}).get("throttled_s")
        except (ValueError, AttributeError):
            continue
        if isinstance(told, (int, float)):
            return float(told) * 1e9
    return 0.0
