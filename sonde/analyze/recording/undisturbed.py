"""Are the steps after the last profiling window like those before the first? Time, CPU time, page faults.

In: `marks` (steps, and windows with what was read before the first), `counters`, and `samples` and `threads` where
busy-waiting shall not count. Out: an `Effect` of the process
with the most steps, None when a side is too short to tell.

A window runs torch's profiler inside the program. What that leaves behind may change what follows: a block on
top of the heap keeps glibc from giving memory back, and page faults are gone. Before the windows the observer reads the
process's counters at the end of each step, afterwards the agent's readings (several a second) are divided by the steps
between them; readings with other work between them (validation) are left out. CPU time is without busy-waiting, which
grows with what other programs do. A program may change by itself as well, so a difference is said, not blamed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.columns import Array, Table, distinct

FEWEST_BEFORE, FEWEST_AFTER = 3, 4
AT_THE_END_NS = 1_000_000  # a reading so near to the end of a step is of that step
STEPS_IN_A_ROW = (
    3.0  # readings in the middle of one long step (a full garbage collection) say nothing of a step
)
STEPS_ALONE = 0.9  # of the time between two readings: with less in training steps other work is in it
LEAST_CHANGE = 0.15  # of CPU time per step
LEAST_Z = 2.3  # of a rank sum: one in a hundred by chance
FAULT_NS = 700  # what a page fault costs at least
LEAST_FAULT_SHARE = 0.03  # of a step's CPU time: fewer faults than this are no matter
SAID_FAULT_SHARE = 0.10  # from here on in the first lines: the first steps of many programs touch new memory


@dataclass(frozen=True)
class Side:
    """One side, per step: medians, and the mean of page faults, which come in bursts."""

    steps: float
    ms: float
    cpu_ms: float
    faults: float


@dataclass(frozen=True)
class Effect:
    before: Side
    after: Side
    differs: tuple[
        str, ...
    ]  # "CPU time", "page faults": those that changed beyond chance and by enough to matter

    @property
    def sentence(self) -> str:
        """What to know before figures are read; "" when both sides are alike."""
        b, a = self.before, self.after
        parts = {
            "CPU time": f"{b.cpu_ms:.3g} → {a.cpu_ms:.3g} ms of CPU time",
            "page faults": f"{b.faults:,.0f} → {a.faults:,.0f} page faults",
        }
        worth_ms = abs(b.faults - a.faults) * FAULT_NS / 1e6
        if "CPU time" not in self.differs and not (self.differs and worth_ms >= SAID_FAULT_SHARE * b.cpu_ms):
            return ""
        said = ", ".join(parts[name] for name in self.differs)
        return (
            f"steps after the profiling windows differ from those before: {said} per step. The program may have "
            "changed by itself; sonde run --window none records it without windows"
        )


def window_effect(
    marks: Table, counters: Table, samples: Table | None = None, threads: Table | None = None
) -> Effect | None:
    """Of the process with the most steps among those that had a window."""
    kinds = marks.text("kind")
    windows = kinds.equals("window") & ~marks.text("name").matches(("open", "primitives"))
    steps = kinds.equals("step")
    process = marks.array("process")
    had = distinct(process[windows])
    if not len(had):
        return None
    chosen = int(max(had, key=lambda p: int((steps & (process == p)).sum())))
    mine = process == chosen
    before = _before(marks.take(windows & mine), np.sort(marks.array("end_ns")[steps & mine]))
    last_ns = int(marks.array("end_ns")[windows & mine].max())
    after = _after(marks.take(steps & mine), counters.take(counters.array("process") == chosen), last_ns)
    if before is None or after is None:
        return None
    if samples is not None and threads is not None:
        own_threads = threads.array("thread")[threads.array("process") == chosen]
        own = samples.take(np.isin(samples.array("thread"), own_threads))
        for side in (before, after):
            side.rows[:, 2] *= 1 - _busy_waiting(own, side.start_ns, side.end_ns)
    return _judged(before.rows, after.rows)


@dataclass(frozen=True)
class _Read:
    """Rows of (steps, ns, cpu_ns, faults), and when they were read."""

    rows: Array
    start_ns: float
    end_ns: float


def _busy_waiting(samples: Table, start_ns: float, end_ns: float) -> float:
    """Share of the CPU time between two moments in which threads of a pool waited for work or for each other."""
    time, state = samples.array("time_ns"), samples.text("state")
    inside = (time >= start_ns) & (time < end_ns) & ~state.equals("waiting")
    weight = np.maximum(samples.array("weight_ns"), 0)
    whole = float(weight[inside].sum())
    return float(weight[inside & state.matches(("spinning", "imbalance"))].sum()) / whole if whole else 0.0


def _before(windows: Table, ends: Array) -> _Read | None:
    """One row per step; `ends` of the steps, in the order of time.

    While nothing has trained yet, the observer reads at the ends of module calls; those may be no steps.
    """
    for text in windows.text("extra").tolist():
        try:
            kept = np.asarray(json.loads(text or "{}").get("before", []), np.float64)
        except (ValueError, AttributeError, TypeError):
            continue
        if kept.ndim != 2 or kept.shape[1] != 3 or not len(ends):
            continue
        done = np.searchsorted(ends, kept[:, 0], "right")
        near = np.abs(ends[np.maximum(done - 1, 0)] - kept[:, 0]) <= AT_THE_END_NS
        near |= np.abs(ends[np.minimum(done, len(ends) - 1)] - kept[:, 0]) <= AT_THE_END_NS
        kept = kept[near]
        if len(kept) > FEWEST_BEFORE:
            rows = np.column_stack((np.ones(len(kept) - 1), np.diff(kept, axis=0)))
            return _Read(rows, float(kept[0, 0]), float(kept[-1, 0]))
    return None


def _after(steps: Table, counters: Table, last_ns: int) -> _Read | None:
    """One row per interval between readings after the windows."""
    end = np.sort(steps.array("end_ns"))
    end = end[end > last_ns]
    if len(end) < FEWEST_AFTER + 1:
        return None
    end = end[1:]  # the step in which the window was saved is no other's like
    names, time, value = counters.text("name"), counters.array("time_ns"), counters.array("value")
    readings = {}
    for name in ("cpu_user_ns", "cpu_system_ns", "minor_faults"):
        own = names.equals(name)
        readings[name] = (time[own], value[own])
    moments = distinct(readings["minor_faults"][0])
    moments = moments[(moments >= end[0]) & (moments <= end[-1])]
    if len(moments) < FEWEST_AFTER + 1:
        return None
    done = np.interp(moments, end, np.arange(len(end), dtype=np.float64))
    spaced = _spaced(done)
    moments, done = moments[spaced], done[spaced]
    found = {name: np.interp(moments, *pair) for name, pair in readings.items()}
    cpu = found["cpu_user_ns"] + found["cpu_system_ns"]
    rows = np.diff(np.column_stack((done, moments.astype(np.float64), cpu, found["minor_faults"])), axis=0)
    keep = rows[:, 0] > 0
    if (
        steps.text("name")[0] == "train"
    ):  # one begins where the other ends, if nothing else is done in between
        inside = union(steps.array("start_ns"), steps.array("end_ns")).within(moments[:-1], moments[1:])
        keep &= inside >= STEPS_ALONE * rows[:, 1]
    rows = rows[keep]
    return _Read(rows, float(moments[0]), float(moments[-1])) if len(rows) >= FEWEST_AFTER else None


def _spaced(done: Array) -> list[int]:
    """Readings that lie at least `STEPS_IN_A_ROW` steps apart."""
    kept = [0]
    for i, steps in enumerate(done.tolist()):
        if steps - done[kept[-1]] >= STEPS_IN_A_ROW:
            kept.append(i)
    return kept


def _judged(before: Array, after: Array) -> Effect:
    sides = []
    for rows in (before, after):
        ns, cpu, faults = (rows[:, i] / rows[:, 0] for i in (1, 2, 3))
        sides.append((ns, cpu, faults, float(rows[:, 0].sum())))
    (_, cpu_b, faults_b, _), (_, cpu_a, faults_a, _) = sides
    told = [
        Side(n, float(np.median(ns)) / 1e6, float(np.median(cpu)) / 1e6, float(f.mean()))
        for ns, cpu, f, n in sides
    ]
    differs = []
    step_ns = max(float(np.median(cpu_b)), 1.0)
    if abs(told[1].cpu_ms / max(told[0].cpu_ms, 1e-9) - 1) >= LEAST_CHANGE and _apart(cpu_b, cpu_a):
        differs.append("CPU time")
    # Faults come in bursts: what a step pays on average counts, not the median.
    changed = abs(float(faults_b.mean()) - float(faults_a.mean()))
    if changed * FAULT_NS >= LEAST_FAULT_SHARE * step_ns and _apart(faults_b, faults_a):
        differs.append("page faults")
    return Effect(told[0], told[1], tuple(differs))


def _apart(one: Array, other: Array) -> bool:
    """By rank sum (Mann and Whitney), ties halved."""
    n, m = len(one), len(other)
    greater = (one[:, None] > other[None, :]).sum() + 0.5 * (one[:, None] == other[None, :]).sum()
    spread = (n * m * (n + m + 1) / 12) ** 0.5
    return bool(abs(float(greater) - n * m / 2) / spread >= LEAST_Z)
