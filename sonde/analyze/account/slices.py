"""The account: the wall time of a thread within some stretches, divided into slices who × kind.

In: `samples`, `StackIndex`, the thread, the stretches and how many units (steps) they are. Out: an `Account`.

The timeline of a thread is made of CPU time (samples), waits (measured one by one, cut to the stretches) and time
that was taken away (exact in sum per look). What is then missing of the stretches was in waits too short to be looked
at, and is a slice of its own; where samples stand for more than the stretches (they stand for whole periods)
all is scaled down. So the slices always sum to the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sonde.analyze.account.kinds import KINDS, NAMES
from sonde.analyze.account.places import NOBODY, Place, Places, places_of
from sonde.analyze.account.stack_kinds import kind_of_samples, kinds_of_stacks
from sonde.analyze.account.waited_for import work_waited_for
from sonde.analyze.base.intervals import Spans
from sonde.analyze.recording.taken_away import pieces_of
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Array, Table


@dataclass(frozen=True)
class Slice:
    """Time of one place in one kind of work, per unit (step or run)."""

    place: Place
    kind: str
    ns: float  # wall time of the critical thread
    share: float  # of the whole
    cpu_ns: float  # CPU time of all threads of the process that worked for it
    samples: int
    modules: tuple[str, ...] = ()  # innermost modules around it, most time first

    @property
    def title(self) -> str:
        return KINDS[self.kind]


@dataclass(frozen=True)
class Account:
    """All slices, largest first. They sum to `whole_ns`."""

    unit: str  # step, run or trace
    units: int
    whole_ns: float  # wall time of one unit
    slices: tuple[Slice, ...]
    samples: int
    from_library: bool = False

    def as_long_as(self, own_ns: float) -> Account:
        """The same division of a unit whose own time is `own_ns`: shares stay."""
        if self.own_ns <= 0:
            return self
        factor = own_ns / self.own_ns
        slices = tuple(replace(s, ns=s.ns * factor, cpu_ns=s.cpu_ns * factor) for s in self.slices)
        return replace(self, whole_ns=self.whole_ns * factor, slices=slices)

    @property
    def taken_ns(self) -> float:
        return self.of_kind("taken")

    @property
    def own_ns(self) -> float:
        """The unit without what other programs took."""
        return max(self.whole_ns - self.taken_ns, 0.0)

    def of_kind(self, *kinds: str) -> float:
        return sum(s.ns for s in self.slices if s.kind in kinds)

    def kinds(self) -> dict[str, float]:
        """Share of the whole of each kind, largest first."""
        found = {kind: self.of_kind(kind) / self.whole_ns for kind in NAMES} if self.whole_ns > 0 else {}
        return dict(sorted(((k, v) for k, v in found.items() if v > 0), key=lambda item: -item[1]))

    def lines(self) -> dict[Place, float]:
        """Time of each place over all kinds, longest first."""
        found: dict[Place, float] = {}
        for one in self.slices:
            if one.place.file or one.place.function:
                found[one.place] = found.get(one.place, 0.0) + one.ns
        return dict(sorted(found.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class Sliced:
    """The stacks of a recording, judged: kinds and places of each, for those who need them per sample."""

    index: StackIndex
    kinds: Array  # per stack
    of_work: Array  # the same, with page faults counted to the work that writes a fresh result
    places: Places


def sliced(index: StackIndex, samples: Table, thread: int) -> Sliced:
    """Judge all stacks; the thread's time decides whether a library's lines stand in."""
    mine = samples.take(np.flatnonzero(samples.array("thread") == thread))
    stack = stack_rows(mine, index)
    weight = np.bincount(stack + 1, np.maximum(mine.array("weight_ns"), 0), len(index) + 1)[1:]
    return Sliced(index, *kinds_of_stacks(index), places_of(index, weight))


def stack_rows(samples: Table, index: StackIndex) -> Array:
    """Row of each sample's stack, -1 when it has none."""
    stack = samples.array("stack").astype(np.int64)
    return np.where((stack >= 0) & (stack < len(index)), stack, -1)


def account_of(
    samples: Table,
    threads: Table,
    judged: Sliced,
    thread: int,
    spans: Spans,
    unit: str = "step",
    units: int = 1,
) -> Account:
    """Divide the time of `thread` within `spans`."""
    whole = float(spans.total_ns)
    units = max(units, 1)
    if whole <= 0:
        return Account(unit, units, 0.0, (), 0)
    rows = np.flatnonzero((samples.array("thread") == thread) & ~samples.text("reason").equals("preempted"))
    mine = samples.take(rows)
    place, kind, module, weight = _pieces(mine, judged, spans)
    behind = work_waited_for(samples, threads, judged.index, judged.kinds)[rows]
    kind = np.where(behind >= 0, behind, kind)
    taken = float(pieces_of(samples, thread).within(spans.starts, spans.ends).sum())
    taken = min(taken, whole)
    seen, rest = float(weight.sum()), whole - taken
    factor = rest / seen if seen > rest else 1.0
    others = _workers(samples, threads, thread)
    place_2, kind_2, _, cpu = _pieces(others, judged, spans)
    own_cpu = np.where(mine.text("state").equals("waiting"), 0.0, weight)
    count = len(KINDS)
    size = len(judged.places.all) * count
    ns = np.bincount(place * count + kind, weight, size) * factor
    cpu_ns = np.bincount(place * count + kind, own_cpu, size) + np.bincount(
        place_2 * count + kind_2, cpu, size
    )
    looks = np.bincount((place * count + kind)[weight > 0], minlength=size)
    modules = _modules(place * count + kind, module, weight, judged.places)
    found = [
        Slice(
            judged.places.all[cell // count],
            NAMES[cell % count],
            float(ns[cell]) / units,
            float(ns[cell]) / whole,
            float(cpu_ns[cell]) / units,
            int(looks[cell]),
            modules.get(cell, ()),
        )
        for cell in np.flatnonzero(ns > 0).tolist()
    ]
    for name, value in (("taken", taken), ("unseen", max(rest - seen * factor, 0.0))):
        if value > 0:
            found.append(Slice(NOBODY, name, value / units, value / whole, 0.0, 0))
    found.sort(key=lambda s: (-s.ns, s.place.file, s.place.line, s.kind))
    return Account(
        unit, units, whole / units, tuple(found), int((weight > 0).sum()), judged.places.from_library
    )


def _pieces(samples: Table, judged: Sliced, spans: Spans) -> tuple[Array, Array, Array, Array]:
    """Per sample: row of its place, code of its kind, code of its module, and its time within the spans."""
    stack = stack_rows(samples, judged.index)
    place = judged.places.of_stack[stack]
    kind = kind_of_samples(samples, stack, judged.kinds)
    time = samples.array("time_ns")
    weight = np.maximum(samples.array("weight_ns"), 0).astype(np.float64)
    inside = spans.within(time, time + 1) > 0
    waiting = samples.text("state").equals("waiting")
    cut = spans.within(time, time + weight.astype(np.int64)).astype(np.float64)
    return place, kind, judged.places.module[stack], np.where(waiting, cut, np.where(inside, weight, 0.0))


def _modules(cell: Array, module: Array, weight: Array, places: Places) -> dict[int, tuple[str, ...]]:
    """For each cell the modules with time in it, most first."""
    rows = np.flatnonzero((module >= 0) & (weight > 0))
    if not len(rows):
        return {}
    pairs, at = np.unique(np.stack((cell[rows], module[rows]), axis=1), axis=0, return_inverse=True)
    time = np.bincount(at.reshape(-1), weight[rows])
    found: dict[int, list[str]] = {}
    for row in np.argsort(-time, kind="stable").tolist():
        found.setdefault(int(pairs[row, 0]), []).append(places.modules[int(pairs[row, 1])])
    return {key: tuple(names) for key, names in found.items()}


def _workers(samples: Table, threads: Table, thread: int) -> Table:
    """Samples on the CPU of pool threads that serve `thread`."""
    owned = (samples.array("owner") == thread) & (samples.array("thread") != thread)
    return samples.take(np.flatnonzero(owned & samples.text("state").equals("running")))
