"""Steps of a program: how long each took, where warm-up ends, how the time splits into phases.

In: `marks`, and `samples` and `threads` where time that was taken away shall not count (see
`sonde.analyze.recording.taken_away`). Out: one `StepReport` per process that made steps.

A step lasts from its start to the start of the next one, so that work between two calls of a model counts; where the
next one is far away, or a profiling window was opened or closed in between, it lasts to its own end. Warm-up is the
leading run of steps that are slower than the steady ones; it is kept apart from every statistic. So are the steps
that touch a profiling window or a capture of primitives: the observers slow them down. Only where that would
leave too few (`--window all`) do they count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.base.nesting import parents, sum_children, timeline
from sonde.analyze.recording.taken_away import MATTERS, NOTHING, Pieces, levelled, pieces_of, stepping_thread
from sonde.columns import Array, Table, median

FEWEST_STEPS = 5  # with fewer there is no telling warm-up from work
STEADY_SIGMAS = 4.0
SMALLEST_SCALE = 0.03  # of the median: differences below are never warm-up
CHANCE = 0.05
FEWEST_SAMPLES = 100  # by which a step is divided; with fewer the clock does better
LONGEST_GAP = 10.0  # of the median from start to start: a longer pause between two steps is another activity


@dataclass(frozen=True)
class Step:
    """One step. `phase_ns` is exclusive: a backward pass inside an optimizer counts as backward."""

    index: int
    start_ns: int
    duration_ns: int  # to the start of the next step, where that is near
    phase_ns: dict[str, int]  # empty when the phases of this step were not recorded
    in_window: bool = False  # a profiling window or a capture was open during it: slower than it would be
    taken_ns: int = 0  # of its duration: ready but off the CPU, in no statistic; 0 where that hardly matters

    @property
    def own_ns(self) -> int:
        return self.duration_ns - self.taken_ns


@dataclass(frozen=True)
class StepReport:
    """The steps of one process. Medians and percentiles are of the steps after warm-up, outside windows."""

    process: int
    kind: str  # train, inference or user
    steps: list[Step]
    warmup: int  # number of leading steps that are warm-up
    median_ns: float
    p10_ns: float
    p90_ns: float
    phase_ns: dict[
        str, float
    ]  # the median step divided as all steady steps are: sums to it, "other" is the remainder
    left_out: int = 0  # steps after warm-up that are in no statistic because a window was open
    taken_share: float = 0.0  # of the steps' wall time: ready but off the CPU

    @property
    def steady(self) -> list[Step]:
        """The steps that every statistic is of, in the order of time: after warm-up, outside windows.

        Where windows leave too few (`left_out` is 0 then), their steps count too.
        """
        after = [s for s in self.steps[self.warmup :] if not (self.left_out and s.in_window)]
        return sorted(after, key=lambda step: step.start_ns)

    def steady_spans(self) -> tuple[Array, Array]:
        """Start and end of each steady step."""
        steady = self.steady
        start = np.array([s.start_ns for s in steady], np.int64)
        return start, start + np.array([s.duration_ns for s in steady], np.int64)


def step_reports(
    marks: Table, samples: Table | None = None, threads: Table | None = None, gaps: bool = True
) -> list[StepReport]:
    """One report per process, in the order of process numbers; with samples, of the time that was not taken away.

    Without `gaps` a step ends where its mark ends: for experiments, which do things of their own between two steps.
    """

    def taken(process: int) -> Pieces:
        if samples is None or threads is None:
            return NOTHING
        return pieces_of(samples, stepping_thread(marks, threads, process))

    kinds = marks.text("kind")
    steps, phases = marks.take(kinds.equals("step")), marks.take(kinds.equals("phase"))
    windows = marks.take(kinds.equals("window"))
    return [
        _report(
            process,
            steps.take(steps.array("process") == process),
            phases.take(phases.array("process") == process),
            windows.take(windows.array("process") == process),
            taken(process),
            gaps,
            samples.take(_own_time(samples, stepping_thread(marks, threads, process)))
            if samples is not None and threads is not None
            else None,
        )
        for process in np.unique(steps.array("process")).tolist()
    ]


def warmup_steps(durations: Array) -> int:
    """How many leading steps are warm-up.

    Steady is the later half: its median, and its spread by the median absolute deviation. Warm-up
    ends at the first step within reach of it that two of the next three confirm. A run of
    slow steps that the steady half's own share of steps as slow makes likely is no warm-up.
    """
    count = len(durations)
    if count < FEWEST_STEPS:
        return 0
    steady = durations[count // 2 :]
    middle = median(steady)
    spread = 1.4826 * median(np.abs(steady - middle))
    limit = middle + STEADY_SIGMAS * max(spread, SMALLEST_SCALE * middle)
    fits = durations <= limit
    end = 0
    while end < count // 2 and not (fits[end] and fits[end : end + 3].sum() >= min(2, count - end)):
        end += 1
    slow = durations[:end][~fits[:end]]
    slow_share = float((steady >= slow.min(initial=np.inf)).mean())
    return end if slow_share**end <= CHANCE else 0


def _report(
    process: int,
    steps: Table,
    phases: Table,
    windows: Table,
    taken: Pieces,
    gaps: bool,
    own_time: Table | None = None,
) -> StepReport:
    steps = steps.take(np.lexsort((steps.array("start_ns"), steps.array("number"))))
    start, end = steps.array("start_ns"), steps.array("end_ns")
    if gaps:
        end = until_next(start, end, windows, _passes_of_their_own(steps, phases))
    lost = taken.within(start, end)
    share = float(lost.sum()) / max(float((end - start).sum()), 1.0)
    if share < MATTERS:
        taken, lost = NOTHING, np.zeros_like(lost)
    names, exclusive = phase_times(start, end, phases, taken)
    durations = levelled(end - start, lost, start)
    lost = np.rint(end - start - durations).astype(np.int64)
    slowed = touched(start, end, windows)
    free = np.flatnonzero(~slowed)
    if len(free) < FEWEST_STEPS:
        free = np.arange(len(start))
    # By the clock, and without what was taken away: neighbours that leave early are no warm-up, and levelled times
    # scatter so little that one loud second would be.
    warmup_free = min(warmup_steps((end - start).astype(np.float64)[free]), warmup_steps(durations[free]))
    warmup = int(free[warmup_free]) if warmup_free else 0
    # Runs of very short steps have phases for some of them only, and the steps say so.
    shown = ~np.array(['"phases": false' in (text or "") for text in steps.text("extra").tolist()], np.bool_)
    # As lists: a number taken from an array costs ten times one from a list, and there may be a million steps.
    parts = exclusive.astype(np.int64).tolist()
    rows = [
        Step(
            number,
            begins,
            length,
            {name: ns for name, ns in zip(names, of_step, strict=True) if ns > 0} if seen else {},
            slow,
            gone,
        )
        for number, begins, length, of_step, seen, slow, gone in zip(
            steps.array("number").tolist(),
            start.tolist(),
            (end - start).tolist(),
            parts,
            shown.tolist(),
            slowed.tolist(),
            lost.tolist(),
            strict=True,
        )
    ]
    counted = free[warmup_free:]
    steady = durations[counted]
    low, middle, high = np.percentile(steady, [10, 50, 90]).tolist() if len(steady) else (0.0, 0.0, 0.0)
    with_phases = counted[shown[counted]]
    sums = exclusive[with_phases].sum(axis=0)
    if taken is not NOTHING and own_time is not None:
        sampled = sampled_phases(start[with_phases], end[with_phases], phases, names, own_time)
        sums = sums if sampled is None else sampled
    divided = sums * (middle / max(float(sums.sum()), 1.0))
    return StepReport(
        process,
        steps.text("name")[0] or "",
        rows,
        warmup,
        middle,
        low,
        high,
        {name: float(ns) for name, ns in zip(names, divided, strict=True) if ns},
        len(steps) - warmup - len(counted),
        share,
    )


def _passes_of_their_own(steps: Table, phases: Table) -> Array:
    """When forward passes begin that are in no training step: validation, generation."""
    if steps.text("name")[0] != "train":
        return np.empty(0, np.int64)
    begins = phases.array("start_ns")[phases.text("name").equals("forward")]
    order = np.argsort(steps.array("start_ns"), kind="stable")
    at = np.searchsorted(steps.array("start_ns")[order], begins, "right") - 1
    inside = (at >= 0) & (begins < steps.array("end_ns")[order][np.maximum(at, 0)])
    result: Array = np.sort(begins[~inside])
    return result


def _own_time(samples: Table, thread: int) -> Array:
    """Mask of what a thread did itself: on the CPU, or waiting for something."""
    mine: Array = (samples.array("thread") == thread) & ~samples.text("reason").equals("preempted")
    return mine


def sampled_phases(
    start_ns: Array, end_ns: Array, phases: Table, names: list[str], samples: Table
) -> Array | None:
    """Time of each phase (`names`, "other" last) within steps, by samples of their thread; None when they are too few.

    For a busy machine: how much was taken from a step is known, but not from which of its phases. It falls where the
    scheduler's slice ends, and that may be the same place in every step; samples are of CPU time alone.
    """
    spans = union(start_ns, end_ns)
    time, weight = samples.array("time_ns"), np.maximum(samples.array("weight_ns"), 0).astype(np.float64)
    inside = spans.within(time, time + 1) > 0
    if int(inside.sum()) < FEWEST_SAMPLES:
        return None
    time, weight = time[inside], weight[inside]
    begin, finish = phases.array("start_ns"), phases.array("end_ns")
    column = {name: i for i, name in enumerate(names)}
    other = len(names) - 1
    code = np.array(
        [column.get(name or "", other) for name in phases.text("name").values] + [other], np.int64
    )
    rows = np.flatnonzero(phases.array("thread") == samples.array("thread")[0])
    if not len(rows):
        return None
    at = timeline(rows, begin, finish, parents(phases.array("thread"), begin, finish)).at(time)
    of_sample = np.where(at >= 0, code[phases.text("name").codes[np.maximum(at, 0)]], other)
    result: Array = np.bincount(of_sample, weight, len(names))
    return result


def until_next(start_ns: Array, end_ns: Array, windows: Table, other_work_ns: Array | None = None) -> Array:
    """Where each step ends: at the start of the next one, if that is near and nothing else happened before.

    Something else: a window was opened or closed, other work (`other_work_ns`, in the order of time) began.
    """
    if not len(start_ns):
        return end_ns
    every = np.sort(start_ns)
    at = np.searchsorted(every, start_ns, "right")
    following = np.where(at < len(every), every[np.minimum(at, len(every) - 1)], end_ns)
    # Of the rhythm, not of the call: a model may be a small part of the loop that calls it.
    rhythm = np.diff(every)
    longest_ns = LONGEST_GAP * max(median(rhythm) if len(rhythm) else 0.0, 1.0)
    near = (following > end_ns) & (following - end_ns <= longest_ns)
    edges = np.sort(np.concatenate([windows.array("start_ns"), windows.array("end_ns")]))
    crossed = np.searchsorted(edges, following, "right") > np.searchsorted(edges, end_ns, "left")
    if other_work_ns is not None:
        crossed |= np.searchsorted(other_work_ns, following, "left") > np.searchsorted(
            other_work_ns, end_ns, "left"
        )
    result: Array = np.where(near & ~crossed, following, end_ns)
    return result


def touched(start_ns: Array, end_ns: Array, windows: Table) -> Array:
    """Which steps overlap a window."""
    order = np.argsort(windows.array("start_ns"), kind="stable")
    begins, ends = windows.array("start_ns")[order], np.maximum.accumulate(windows.array("end_ns")[order])
    before = np.searchsorted(begins, end_ns, side="left")  # windows that begin before the step's end
    latest = np.where(before > 0, ends[np.maximum(before - 1, 0)] if len(ends) else 0, -1)
    return latest > start_ns


def phase_times(
    start_ns: Array, end_ns: Array, phases: Table, taken: Pieces = NOTHING
) -> tuple[list[str], Array]:
    """Names of phases ("other" last), and the exclusive time of each in each step (steps × names)."""
    names = sorted({name for name in phases.text("name").tolist() if name})
    result, lost = np.zeros((2, len(start_ns), len(names) + 1))
    if len(phases):
        begin, finish = phases.array("start_ns"), phases.array("end_ns")
        inner = parents(phases.array("thread"), begin, finish)
        order = np.argsort(start_ns, kind="stable")
        at = np.searchsorted(start_ns[order], begin, side="right") - 1
        step = np.where(at >= 0, order[np.maximum(at, 0)], -1)
        inside = (step >= 0) & (begin < end_ns[np.maximum(step, 0)])
        column = {name: i for i, name in enumerate(names)}
        code = np.array([column.get(name or "", -1) for name in phases.text("name").values] + [-1], np.int64)
        for into, own in ((result, finish - begin), (lost, taken.within(begin, finish))):
            own = own - sum_children(inner, own)
            np.add.at(
                into, (step[inside], code[phases.text("name").codes[inside]]), own[inside].astype(np.float64)
            )
    result[:, -1] = np.maximum(end_ns - start_ns - result[:, :-1].sum(axis=1), 0)
    lost[:, -1] = np.maximum(taken.within(start_ns, end_ns) - lost[:, :-1].sum(axis=1), 0)
    for j in range(len(names) + 1):
        result[:, j] = levelled(result[:, j], lost[:, j], start_ns)
    return [*names, "other"], result
