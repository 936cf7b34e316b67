"""Which operator calls the time was taken from: recorded calls joined with the looks that found it (`taken_away`).

In: `ops` and `samples`. Out: for each call, how much of its own time its thread was ready but off the CPU.

A look says how much was taken in about a tenth of a second, not where. A call that lasted as long as its like was
hardly interrupted, and one that lasted far longer was: so the stretches of each look give in proportion to what they
last beyond what is usual for their operator and shapes. What is then still to be placed is spread evenly over the
look, and the part of a look outside of recorded calls takes its share. The sum is the kernel's; the place is an
estimate.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import parent_rows
from sonde.analyze.base.nesting import by_value, skip, timeline
from sonde.analyze.recording.taken_away import Pieces, pieces_of
from sonde.columns import Array, Table

FEWEST_ALIKE = 3  # stretches of an operator below which none of them is usual
UNDISTURBED = (
    0.2  # quantile of their lengths: where most calls are disturbed, the shorter ones tell what one takes
)
MOST_PARTS = 64  # of a call, between its callees, that are told apart
LEAST_EXCESS_NS = 50_000.0  # less than any other program runs for
MARKED_NS = 500_000  # a call from which so much was taken is marked


def taken_from_calls(ops: Table, samples: Table) -> Array:
    """Nanoseconds taken from each call's own time (its callees' is theirs)."""
    result = np.zeros(len(ops), np.float64)
    if not len(ops) or not len(samples):
        return np.rint(result).astype(np.int64)
    nests = ~ops.array("is_async")
    parent = skip(parent_rows(ops), nests)
    start, end, shapes = ops.array("start_ns"), ops.array("end_ns"), ops.text("shapes")
    kind = ops.text("name").codes.astype(np.int64) * (len(shapes.values) + 1) + shapes.codes + 1
    for thread, rows in by_value(ops.array("thread")):
        pieces = pieces_of(samples, thread)
        if not len(pieces.weight):
            continue
        line = timeline(np.sort(rows[nests[rows]]), start, end, parent)
        first, last = line.boundary_ns[:-1], line.boundary_ns[1:]
        lasting = last > first
        first, last, owner = first[lasting], last[lasting], line.row[:-1][lasting]
        if len(first):
            alike = np.where(owner >= 0, kind[np.maximum(owner, 0)] * MOST_PARTS + _part(owner), -1)
            _place(result, pieces, first, last, owner, _usual(alike, (last - first).astype(np.float64)))
    return np.rint(result).astype(np.int64)


def _part(owner: Array) -> Array:
    """Which part of its call each stretch is: before its first callee, after it, and so on. Those are not alike."""
    order = np.argsort(owner, kind="stable")
    _, first, count = np.unique(owner[order], return_index=True, return_counts=True)
    result = np.empty(len(owner), np.int64)
    result[order] = np.arange(len(owner)) - np.repeat(first, count)
    return np.minimum(result, MOST_PARTS - 1)


def _usual(alike: Array, length: Array) -> Array:
    """For each stretch the length of undisturbed ones of its operator and shapes; 0 where they are too few to tell."""
    usual = np.zeros(len(alike), np.float64)
    for _, rows in by_value(alike):
        if len(rows) >= FEWEST_ALIKE:
            usual[rows] = float(np.quantile(length[rows], UNDISTURBED))
    return usual


def _place(result: Array, pieces: Pieces, first: Array, last: Array, owner: Array, usual: Array) -> None:
    """Add what each look took to the calls (`owner`, -1: none) of the stretches inside it."""
    for begin, finish, weight in zip(
        pieces.start.tolist(), pieces.end.tolist(), pieces.weight.tolist(), strict=True
    ):
        low, high = np.searchsorted(last, begin, "right"), np.searchsorted(first, finish, "left")
        if low >= high:
            continue
        inside = np.minimum(last[low:high], finish) - np.maximum(first[low:high], begin)
        length = inside.astype(np.float64)
        outside = max(finish - begin - float(length.sum()), 0.0)
        excess = length - usual[low:high]
        excess[excess < LEAST_EXCESS_NS] = 0.0
        taken = excess * min(weight / max(float(excess.sum()) + outside, 1.0), 1.0)
        placed = min(float(weight), float(excess.sum()) + outside)
        left = length - taken
        taken += left * min((weight - placed) / max(float(left.sum()), 1.0), 1.0)
        mine = owner[low:high]
        np.add.at(result, mine[mine >= 0], taken[mine >= 0])
