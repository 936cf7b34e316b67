"""One clock for many ranks, from the collectives they share.

Enters: the `Collectives` of each rank. Leaves: an `Alignment` with the offset of each rank's clock and the
uncertainty of all, or with the reason why it refuses.
A synchronising collective ends on every rank within some tens of µs of data movement, whenever each rank
began to wait. So over the calls that all ranks share:
    offset of a rank = median over calls of (its end − mean end over ranks)
    uncertainty = 95th percentile over ranks and calls of |end − offset − mean end|
Calls are matched by sequence number where the trace has it, else by their order in each stream, allowing for
traces that begin some calls later or earlier (the shift whose ends agree best).
It refuses when fewer than three synchronising calls are shared, when two ranks run different sequences, when
two shifts explain the data alike, or when the uncertainty exceeds the median distance between calls or the
median length of the calls on the rank that waits longest: then "who came last" has no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.ranks.collectives import SYNCHRONISING, Collectives

MIN_SHARED = 3
MAX_SHIFT = 64
CLEARLY_BETTER = 2.0  # the best shift must agree this much better than any other

Grid = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Alignment:
    """Clock of each rank against the mean clock. `starts` and `ends` are (ranks × shared calls), aligned."""

    ranks: tuple[int, ...]
    shared: int  # calls that every rank has
    unmatched: int  # communication kernels, over all ranks, that are not part of a shared call
    offsets_ns: tuple[int, ...]
    uncertainty_ns: int
    refused: str  # "" when aligned, else why not
    operations: tuple[str, ...]
    starts: Grid
    ends: Grid

    @property
    def aligned(self) -> bool:
        return not self.refused


@dataclass(frozen=True)
class _Refusal(Exception):
    reason: str


def align(ranks: dict[int, Collectives]) -> Alignment:
    """Match the collectives of all ranks and estimate each clock's offset."""
    names = tuple(sorted(ranks))
    count = sum(len(c) for c in ranks.values())
    none = np.empty((len(names), 0), np.int64)
    if len(names) < 2:
        return Alignment(names, 0, count, (0,) * len(names), 0, "there is only one rank", (), none, none)
    try:
        rows = _match(names, ranks)
        starts = np.array([ranks[r].start[row] for r, row in zip(names, rows, strict=True)], np.int64)
        ends = np.array([ranks[r].end[row] for r, row in zip(names, rows, strict=True)], np.int64)
        operations, syncing = _operations(names, ranks, rows)
        if syncing.sum() < MIN_SHARED:
            raise _Refusal(
                f"only {int(syncing.sum())} synchronising collectives are in the traces of all "
                f"{len(names)} ranks; "
                f"{MIN_SHARED} are needed"
            )
    except _Refusal as refusal:
        return Alignment(names, 0, count, (0,) * len(names), 0, refusal.reason, (), none, none)
    # Differences first: a mean of epoch nanoseconds would lose the last 256 ns in a double.
    relative = (ends - ends[0]).astype(float)
    off_mean = relative - relative.mean(axis=0)
    offsets = np.median(off_mean[:, syncing], axis=1).round().astype(np.int64)
    uncertainty = int(np.ceil(np.percentile(np.abs(off_mean[:, syncing] - offsets[:, None]), 95)))
    distance = float(np.median(np.diff(np.sort(ends[0][syncing]))))
    longest = float(np.median((ends - starts)[:, syncing].max(axis=0)))
    refused = ""
    if uncertainty > min(distance, longest):
        refused = (
            f"ends of the same collective disagree by up to {uncertainty / 1e3:.0f} µs (95th percentile) "
            f"after alignment; collectives last {longest / 1e3:.0f} µs and are {distance / 1e3:.0f} µs apart"
        )
    return Alignment(
        names,
        starts.shape[1],
        count - starts.size,
        tuple(int(o) for o in offsets),
        uncertainty,
        refused,
        operations,
        starts - offsets[:, None],
        ends - offsets[:, None],
    )


def _operations(
    names: tuple[int, ...], ranks: dict[int, Collectives], rows: list[Grid]
) -> tuple[tuple[str, ...], npt.NDArray[np.bool_]]:
    """Per shared call the best-known operation, and whether some rank says that it synchronises."""
    operations = []
    for call in zip(*(row.tolist() for row in rows), strict=True):
        said = [ranks[r].operations[i] for r, i in zip(names, call, strict=True)]
        operations.append(next((o for o in said if o in SYNCHRONISING), said[0]))
    return tuple(operations), np.array([o in SYNCHRONISING for o in operations], bool)


def _match(names: tuple[int, ...], ranks: dict[int, Collectives]) -> list[Grid]:
    """Per rank, the row of each call that all ranks share."""
    first = ranks[names[0]]
    partner = [np.arange(len(first))] + [_pair(names[0], first, r, ranks[r]) for r in names[1:]]
    present = np.all([p >= 0 for p in partner], axis=0)
    return [p[present] for p in partner]


def _pair(first_name: int, first: Collectives, other_name: int, other: Collectives) -> Grid:
    """For each call of the first rank, the row of the other rank's call, -1 where it has none."""
    if all(first.keys) and all(other.keys) and first.keys:
        at = {k: i for i, k in enumerate(other.keys)}
        return np.array([at.get(k, -1) for k in first.keys], np.int64)
    mine, theirs = first.by_stream(), other.by_stream()
    partner: Grid = np.full(len(first), -1, np.int64)
    if set(mine) != set(theirs):  # stream ids are the process's own affair: take all as one queue
        mine, theirs = {0: list(range(len(first)))}, {0: list(range(len(other)))}
    for stream, rows in mine.items():
        queue = np.array(theirs[stream], np.int64)
        shift = _shift(first_name, first.take(rows), other_name, other.take(theirs[stream]))
        place = np.arange(len(rows)) + shift
        inside = (place >= 0) & (place < len(queue))
        partner[np.array(rows)[inside]] = queue[place[inside]]
    return partner


def _shift(first_name: int, first: Collectives, other_name: int, other: Collectives) -> int:
    """By how many calls the other rank's queue began earlier; refuses when none or several fit."""
    shifts = [s for s in _shifts(len(first), len(other)) if _same(first, other, s)]
    if not shifts:
        raise _Refusal(f"ranks {first_name} and {other_name} run different sequences of collectives")
    if len(first) == len(other) and 0 in shifts:
        return 0
    scored = sorted((_disagreement(first, other, s), abs(s), s) for s in shifts)
    if len(scored) > 1 and scored[1][0] < CLEARLY_BETTER * scored[0][0]:
        raise _Refusal(
            f"ranks {first_name} and {other_name} recorded {len(first)} and {len(other)} collectives, and it "
            "is not clear which of them belong together"
        )
    return scored[0][2]


def _shifts(first: int, other: int) -> range:
    return range(-min(MAX_SHIFT, max(first - 1, 0)), min(MAX_SHIFT, max(other - 1, 0)) + 1)


def _overlap(first: Collectives, other: Collectives, shift: int) -> tuple[slice, slice]:
    low, high = max(0, -shift), min(len(first), len(other) - shift)
    return slice(low, high), slice(low + shift, high + shift)


def _same(first: Collectives, other: Collectives, shift: int) -> bool:
    mine, theirs = _overlap(first, other, shift)
    missing = (
        len(first.kernels) - (mine.stop - mine.start) + len(other.kernels) - (theirs.stop - theirs.start)
    )
    # A shift may drop calls at the ends only as far as the lengths differ, plus a few that the window cut.
    if mine.stop - mine.start < 1 or missing > abs(len(first) - len(other)) + 8:
        return False
    return first.kernels[mine] == other.kernels[theirs]


def _disagreement(first: Collectives, other: Collectives, shift: int) -> float:
    """Median deviation of the ends from a constant offset."""
    mine, theirs = _overlap(first, other, shift)
    apart = (other.end[theirs] - first.end[mine]).astype(float)
    return float(np.median(np.abs(apart - np.median(apart)))) + 1.0
