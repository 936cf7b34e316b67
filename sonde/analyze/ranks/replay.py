"""What a step would take if a rank came no later than the others: its collectives, replayed.

Enters: `Shared`, how much shorter each rank's way to each collective is to be, and each transfer. Leaves: the length of
the whole, as measured and as replayed. The model: a rank's way to a collective begins where its thread was released by
the one before (its end, or, where the next was asked for before that, the moment of asking); a collective ends on a
rank the same time after its last member came as it did when it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.ranks.shared import Shared
from sonde.columns import Array


@dataclass(frozen=True)
class Replay:
    """Length from the first collective to the end of the last, over all of them."""

    measured_ns: float
    unchanged_ns: float  # replayed without any change: how good the model is
    changed_ns: float


def replay(shared: Shared, shorter_ns: Array, transfer_ns: Array, calls: Array) -> Replay:
    """Replay `calls` (columns of `shared`, by time) with ways cut by `shorter_ns` (ranks × calls of `shared`).

    `transfer_ns`: what the transfers are cut by (calls)."""
    if len(calls) < 2:
        return Replay(0.0, 0.0, 0.0)
    measured = float(shared.end[:, calls].max() - shared.last_ns[calls[0]])
    unchanged = _run(shared, np.zeros_like(shorter_ns), np.zeros_like(transfer_ns), calls)
    return Replay(measured, unchanged, _run(shared, shorter_ns, transfer_ns, calls))


def _run(shared: Shared, shorter: Array, transfer: Array, calls: Array) -> float:
    ranks = len(shared.ranks)
    member, queued, end, last = shared.member, shared.queued, shared.end, shared.last_ns
    before = np.full(ranks, -1, np.int64)  # the call before, per rank
    new_queued = np.zeros(shared.queued.shape)
    new_end = np.zeros(shared.queued.shape)
    origin = float(last[calls[0]])
    for call in calls.tolist():
        for rank in np.flatnonzero(member[:, call]).tolist():
            prior = before[rank]
            if prior < 0:
                new_queued[rank, call] = queued[rank, call] - origin
                continue
            if end[rank, prior] <= queued[rank, call]:
                way, base = queued[rank, call] - end[rank, prior], new_end[rank, prior]
            else:
                way, base = queued[rank, call] - queued[rank, prior], new_queued[rank, prior]
            new_queued[rank, call] = base + max(way - shorter[rank, call], 0.0)
        here = member[:, call]
        arrival = new_queued[here, call].max()
        lasted = end[here, call] - last[call]
        new_end[here, call] = arrival + np.maximum(lasted - transfer[call], np.minimum(lasted, 0))
        before[here] = call
    final = calls[-1]
    return float(
        max(new_end[member[:, c], c].max() for c in calls[-min(len(calls), 8) :].tolist())
        if len(calls)
        else new_end[:, final].max()
    )
