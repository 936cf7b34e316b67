"""Why a rank is late: what it did on its way to the collectives that it entered last, beside what the others did.

Enters: the way of each rank to those collectives (spans of time on its stepping thread) and what divides a
thread's time into lines and kinds of work (`sonde.analyze.account`). Leaves: a `Cause`: the line and kind of work with
the largest excess over the median of the other ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.kinds import KINDS, WAITS
from sonde.analyze.account.places import NOBODY, Place
from sonde.analyze.account.slices import Sliced, account_of
from sonde.analyze.base.intervals import Spans, union
from sonde.analyze.ranks.shared import Shared
from sonde.columns import Array, Table

EXPLAINS = 0.3  # of the lateness; a line with less is not called the cause
TWICE = 2.0
ALONE, TIMES_ALONE = (
    0.1,
    5.0,
)  # work that the others do less than a tenth of is the cause up to five times as much
MEASURABLE = 0.05  # of the lateness: work of the others that is enough to say how much interruptions slow it
BESIDE_TAKEN = 0.05  # of the lateness: on a busy machine most of it is time off the CPU, whatever the cause

Cells = dict[tuple[Place, str], float]
WORDS = {
    "sleep": "time.sleep",
    "loading": "waiting for data",
    "io": "I/O",
    "gc": "garbage collection",
    "taken": "ready but off the CPU (other programs, or a CPU quota)",
    "allocation": "allocation and page faults",
    "quota": "ready but off the CPU (a CPU quota)",
    "unseen": "time that no sample saw",
}


@dataclass(frozen=True)
class Cause:
    """`excess_ns`: per late step, more than the median of the others. `kind` is "" where nothing stands out."""

    kind: str
    place: Place
    excess_ns: float
    mine_ns: float
    others_ns: float

    @property
    def words(self) -> str:
        return WORDS.get(self.kind, KINDS.get(self.kind, "no single cause"))

    @property
    def sentence(self) -> str:
        """time.sleep at train.py:41 in train()"""
        if not self.kind:
            return "no line or kind of work stands out"
        if not self.place.file or self.place.line <= 0:
            return self.words
        name = self.place.file.rpartition("/")[2]
        function = f" in {self.place.function}()" if self.place.function not in ("", "<module>") else ""
        return f"{self.words} at {name}:{self.place.line}{function}"


def _best(excess: Cells, others: list[Cells]) -> tuple[Place, str]:
    """The cell that explains most, time off the CPU among them.

    On a busy machine work that takes longer is also interrupted more. So what was taken counts only as far as it goes
    beyond what the others lose for the same work, and the work counts with it; and since what was taken is spread
    over the stretch that it was measured in, sleeps included, it must be twice as much to be called the cause; five
    times where the work is this rank's alone: whoever blocks and wakes often (a write) waits for a CPU each time.
    """
    least = max(MEASURABLE * sum(ns for ns in excess.values() if ns > 0), 1.0)
    slowed = float(np.median([_taken(one) / max(_worked(one), least) for one in others]))
    own = {
        key: ns * (1 + slowed if _on_cpu(key[1]) else 1.0)
        for key, ns in excess.items()
        if key[1] not in ("taken", "unseen")
    }
    taken = (NOBODY, "taken")
    beyond = excess.get(taken, 0.0) - slowed * max(_worked(excess), 0.0)
    if not own:
        return max(excess, key=lambda key: excess[key])
    first = max(own, key=lambda key: own[key])
    beside = float(np.median([one.get(first, 0.0) for one in others]))
    times = TIMES_ALONE if beside < ALONE * excess[first] else TWICE
    return taken if taken in excess and beyond > times * own[first] else first


def _on_cpu(kind: str) -> bool:
    return kind not in WAITS and kind != "loading"


def _worked(cells: Cells) -> float:
    return sum(ns for (_, kind), ns in cells.items() if _on_cpu(kind))


def _taken(cells: Cells) -> float:
    return sum(ns for (_, kind), ns in cells.items() if kind == "taken")


def approaches(shared: Shared, rank: int, calls: Array) -> Spans:
    """The ways of a rank (a row of `shared`) to these calls: from its release by the call before to its asking."""
    mine = np.flatnonzero(shared.member[rank])
    mine = mine[np.argsort(shared.queued[rank, mine], kind="stable")]
    at = np.searchsorted(shared.queued[rank, mine], shared.queued[rank, calls])
    keep = at > 0
    prior = mine[at[keep] - 1]
    until = shared.queued[rank, calls[keep]]
    ended, asked = shared.end[rank, prior], shared.queued[rank, prior]
    begin = np.where(ended <= until, ended, asked)
    return union(np.minimum(begin, until), until)


def cause_of(
    shared: Shared,
    late_rank: int,
    calls: Array,
    units: int,
    samples: Table,
    threads: Table,
    judged: Sliced,
    thread_of: dict[int, int],
    late_ns: float = 0.0,
    in_transfers: Array | None = None,
) -> Cause:
    """`late_rank`: the row in `shared`; `calls`: columns it entered last; `thread_of`: row → its stepping thread.
    `late_ns`: what is to be explained, per unit. `in_transfers`: per row, what was taken from the threads that carry
    its data, per unit."""
    cells: dict[int, Cells] = {}
    for row, thread in thread_of.items():
        found = account_of(samples, threads, judged, thread, approaches(shared, row, calls), "step", units)
        sums: Cells = {}
        for one in found.slices:
            place = NOBODY if one.kind == "taken" else one.place
            sums[place, one.kind] = sums.get((place, one.kind), 0.0) + one.ns
        if in_transfers is not None and in_transfers[row] > 0:
            sums[NOBODY, "taken"] = sums.get((NOBODY, "taken"), 0.0) + float(in_transfers[row])
        cells[row] = sums
    mine = cells.get(late_rank, {})
    others = [sums for row, sums in cells.items() if row != late_rank]
    if not mine or not others:
        return Cause("", NOBODY, 0.0, 0.0, 0.0)

    def beside(key: tuple[Place, str]) -> float:
        return float(np.median([sums.get(key, 0.0) for sums in others]))

    # What the other ranks have more of in waiting for this one is no cause, so communication is left out.
    excess = {key: ns - beside(key) for key, ns in mine.items() if key[1] != "communication"}
    if not excess:
        return Cause("", NOBODY, 0.0, 0.0, 0.0)
    total = max(sum(v for v in excess.values() if v > 0), late_ns)
    best = _best(excess, others)
    if excess[best] < (EXPLAINS if _taken(excess) < EXPLAINS * total else BESIDE_TAKEN) * total:
        kinds: dict[str, float] = {}
        for (_, kind), ns in excess.items():
            kinds[kind] = kinds.get(kind, 0.0) + ns
        kind = max(kinds, key=lambda k: kinds[k])
        if kinds[kind] < EXPLAINS * total:
            return Cause("", NOBODY, total, 0.0, 0.0)
        own = sum(ns for (_, k), ns in mine.items() if k == kind)
        return Cause(kind, NOBODY, kinds[kind], own, own - kinds[kind])
    return Cause(best[1], best[0], excess[best], mine[best], beside(best))
