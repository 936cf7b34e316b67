"""Time that was taken away: a thread was ready to run, but off the CPU. Other programs, a quota or a host had it.

In: `samples` (the waits with reason `preempted`), `threads`, `marks`. Out: `Pieces` of a thread, which
tell how much was taken within any stretch of time, and a `TakenAway` for the thread that makes the steps.

The agent reads the kernel's run delay at every look, so the amount in a look is exact and its place inside the look
is not known: it is spread evenly over it. Sums over many looks are the kernel's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.base.nesting import by_value
from sonde.columns import Array, Table

DISTURBED = 0.20  # of a profiling window (sonde/record/inside/windows.py takes it again)
LEVEL_NS = 1_000_000_000  # ten looks: what was taken within it is known well
MATTERS = 0.10  # of a thread's time: from here on it is said, and figures are of the rest
PASS_NS = 500_000_000  # and otherwise; more than fits into a short look was found by a long one
LOOK_NS = 100_000_000  # the agent's looks while much is taken away (native/agent/waits)


@dataclass(frozen=True)
class Pieces:
    """Time taken from one thread: `weight` within [start, end) each, ascending and disjoint."""

    start: Array
    end: Array
    weight: Array

    @property
    def total_ns(self) -> int:
        return int(self.weight.sum())

    def within(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Array:
        """For each stretch, how much was taken in it."""
        first, last = np.asarray(starts, np.float64), np.asarray(ends, np.float64)
        if not len(self.weight):
            return np.zeros(first.shape, np.int64)
        origin = float(self.start[0])
        times = np.stack((self.start, self.end), axis=1).reshape(-1) - origin
        sums = np.repeat(np.cumsum(self.weight), 2).astype(np.float64)
        sums[::2] -= self.weight
        inside = np.interp(last - origin, times, sums) - np.interp(first - origin, times, sums)
        return np.rint(np.clip(inside, 0, np.maximum(last - first, 0))).astype(np.int64)


NOTHING = Pieces(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def pieces_of(samples: Table, thread: int) -> Pieces:
    """What was taken from one thread."""
    if thread < 0 or not len(samples):
        return NOTHING
    mine = (
        (samples.array("thread") == thread)
        & samples.text("state").equals("waiting")
        & samples.text("reason").equals("preempted")
    )
    time, weight = samples.array("time_ns")[mine], np.maximum(samples.array("weight_ns")[mine], 0)
    order = np.argsort(time, kind="stable")
    start, first = np.unique(time[order], return_index=True)
    if not len(start):
        return NOTHING
    summed = np.add.reduceat(weight[order], first).astype(np.int64)
    following = np.append(start[1:], np.iinfo(np.int64).max)
    looked = np.where(summed > LOOK_NS, np.maximum(summed, PASS_NS), LOOK_NS)
    end = np.minimum(start + looked, following)
    return Pieces(start, end, summed)


def levelled(length: Array, taken: Array, start_ns: Array) -> Array:
    """Lengths of stretches that are alike (steps, or one phase of each) without what was taken in them.

    `taken` is right in sum, but short stretches in one look share what fell into some of them. Those that it fell into
    are the longer ones: so within about a second all are cut to one level at which the sum is right.
    """
    own = np.asarray(length, np.float64).copy()
    lost = np.asarray(taken, np.float64)
    if not len(own) or not lost.any():
        return own
    for _, rows in by_value((start_ns - start_ns.min()) // LEVEL_NS):
        down = np.sort(own[rows])[::-1]
        levels = (np.cumsum(down) - float(lost[rows].sum())) / np.arange(1, len(rows) + 1)
        # The level of the k longest holds when it is not below the next one.
        fits = levels >= np.append(down[1:], 0.0)
        own[rows] = np.minimum(own[rows], max(float(levels[fits][0]) if fits.any() else 0.0, 0.0))
    return own


def stepping_thread(marks: Table, threads: Table, process: int) -> int:
    """The thread that makes the steps of a process, else its main thread; -1 when neither is known."""
    rows = marks.text("kind").equals("step") & (marks.array("process") == process)
    own = marks.array("thread")[rows]
    own = own[own >= 0]
    if len(own):
        return int(np.bincount(own).argmax())
    main = np.flatnonzero((threads.array("process") == process) & threads.text("kind").equals("main"))
    return int(threads.array("thread")[main[0]]) if len(main) else -1


@dataclass(frozen=True)
class TakenAway:
    """What was taken from one thread within some of its time, and from all threads of the recording."""

    name: str  # of the thread, for people
    seconds: float
    of_seconds: float  # wall time that it was taken from
    all_threads_s: float  # thread time, of the whole run
    stolen_share: float | None = (
        None  # of the CPUs' time, by the host of a virtual machine; None: not counted
    )
    throttled_s: float | None = None  # time that the control group stood still because of its quota

    @property
    def share(self) -> float:
        return min(self.seconds / self.of_seconds, 1.0) if self.of_seconds > 0 else 0.0

    @property
    def matters(self) -> bool:
        return self.share >= MATTERS

    @property
    def sentence(self) -> str:
        """For the first line of a view."""
        why = "The machine was busy"
        if self.throttled_s is not None and self.throttled_s >= 0.5 * self.seconds:
            why = "The CPU quota of the control group was used up"
        return (
            f"{why}: {self.name} was ready but off the CPU {self.share * 100:.0f} % of the time; "
            "wall-clock figures below are of the rest."
        )

    def as_json(self) -> dict[str, object]:
        """`taken_away` of every view."""
        return {
            "share": self.share,
            "seconds": self.seconds,
            "of_seconds": self.of_seconds,
            "thread": self.name,
            "all_threads_seconds": self.all_threads_s,
            "stolen_share": self.stolen_share,
            "throttled_seconds": self.throttled_s,
            "matters": self.matters,
        }


def taken_away(
    samples: Table,
    threads: Table,
    marks: Table,
    spans: tuple[Array, Array] | None = None,
) -> TakenAway:
    """Of the thread that makes the steps (else the main thread that lived longest), within `spans` or all its life."""
    thread = main_thread(marks, threads)
    row = np.flatnonzero(threads.array("thread") == thread)
    if spans is not None and len(spans[0]):
        start, end = spans
    elif len(row):
        start, end = threads.array("start_ns")[row], threads.array("end_ns")[row]
    else:
        start = end = np.zeros(1, np.int64)
    pieces = pieces_of(samples, thread)
    every = samples.text("state").equals("waiting") & samples.text("reason").equals("preempted")
    kind = threads.text("kind")[int(row[0])] if len(row) else None
    said = _scheduling(marks)
    return TakenAway(
        "main" if kind in (None, "main") else f"the {kind} thread that makes the steps",
        float(pieces.within(start, end).sum()) / 1e9,
        float(np.maximum(end - start, 0).sum()) / 1e9,
        float(samples.array("weight_ns")[every].sum()) / 1e9,
        _number(said.get("stolen_share")),
        _number(said.get("throttled_s")),
    )


def main_thread(marks: Table, threads: Table) -> int:
    """The thread that makes most steps, else the main thread that lived longest; -1 when there is none."""
    steps = marks.text("kind").equals("step")
    if steps.any():
        processes, counts = np.unique(marks.array("process")[steps], return_counts=True)
        return stepping_thread(marks, threads, int(processes[counts.argmax()]))
    main = np.flatnonzero(threads.text("kind").equals("main"))
    if not len(main):
        return -1
    life = (threads.array("end_ns") - threads.array("start_ns"))[main]
    return int(threads.array("thread")[main[int(life.argmax())]])


def _scheduling(marks: Table) -> dict[str, Any]:
    """What the program's end said of the machine and of its control group (sonde/record/inside/placement.py)."""
    for said in _extras(marks, "settings"):
        if isinstance(said.get("scheduling"), dict):
            return dict(said["scheduling"])
    return {}


@dataclass(frozen=True)
class DisturbedWindows:
    """Profiling windows that say how much was taken from them."""

    count: int
    disturbed: int
    most_taken: float  # the largest share of a window in which its thread was ready but off the CPU


def disturbed_windows(marks: Table) -> DisturbedWindows | None:
    """None: no window says it."""
    shares = [
        share for text in _extras(marks, "window") if (share := _number(text.get("taken_share"))) is not None
    ]
    if not shares:
        return None
    much = sum(share > DISTURBED for share in shares)
    return DisturbedWindows(len(shares), much, max(shares))


def _extras(marks: Table, kind: str) -> Iterator[dict[str, Any]]:
    """What marks of a kind say beside their times, the last first."""
    rows = np.flatnonzero(marks.text("kind").equals(kind))
    for text in reversed(marks.text("extra").take(rows).tolist()):
        try:
            said = json.loads(text or "{}")
        except ValueError:
            continue
        if isinstance(said, dict):
            yield said


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
