"""What two recordings are compared by: steady steps, cut into blocks that serve as repetitions.

In: `marks` of a recording. Out: `Blocks`: stretches of time, each with the number of steps it
holds. Neighbouring steps resemble each other (the same cache, the same neighbour on the machine), so
single steps would make an interval too narrow; means of blocks of consecutive steps do
not. A recording without steps is one block: the whole run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.steps.program import Step, step_reports
from sonde.columns import Array, Table

MOST_BLOCKS = 20
FEWEST_STEPS = 3  # to speak of steps at all
SLACK_NS = 1_000_000  # a window is opened a moment after the step's own start


@dataclass(frozen=True)
class Blocks:
    """Steps in order of time; `block` is the block of each. Values are per step."""

    start_ns: Array
    end_ns: Array
    block: Array
    unit: str  # step or run

    @property
    def count(self) -> int:
        return int(self.block.max(initial=-1)) + 1

    @property
    def steps(self) -> Array:
        """Steps in each block."""
        return np.bincount(self.block, minlength=self.count)

    def at(self, time_ns: Array) -> Array:
        """Block that holds each moment, -1 outside all steps."""
        if not len(self.start_ns):
            return np.full(len(time_ns), -1, np.int64)
        step = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        inside = (step >= 0) & (time_ns < self.end_ns[np.maximum(step, 0)])
        return np.where(inside, self.block[np.maximum(step, 0)], -1)

    def overlap(self, start_ns: int, end_ns: int) -> Array:
        """Time of a stretch that falls into each block."""
        shared = np.minimum(self.end_ns, end_ns) - np.maximum(self.start_ns, start_ns)
        return np.bincount(self.block, np.maximum(shared, 0), self.count)


@dataclass(frozen=True)
class Steady:
    """The steady steps of the process that made most of them; none when there are too few."""

    process: int
    steps: list[Step]  # after warm-up, those of windows too
    quiet: list[Step]  # of them those that no window slowed (`StepReport.steady`)
    early: tuple[Step, ...] = ()  # taken for warm-up


def steady_steps(table: Callable[[str], Table]) -> Steady:
    """The steps that `sonde show steps` calls steady, of the process that made most."""
    reports = step_reports(table("marks"), table("samples"), table("threads"))
    if not reports:
        return Steady(0, [], [])
    main = max(reports, key=lambda report: (len(report.steps), -report.process))
    if len(main.steady) < FEWEST_STEPS:
        return Steady(main.process, [], [])
    after = sorted(main.steps[main.warmup :], key=lambda step: step.start_ns)
    return Steady(main.process, after, main.steady, tuple(main.steps[: main.warmup]))


def blocks_of(steps: list[Step], most: int = MOST_BLOCKS) -> Blocks:
    """`steps` cut into at most `most` runs of neighbours of nearly equal length."""
    count = len(steps)
    edges = (np.arange(count) * min(most, count)) // max(count, 1)
    start = np.array([s.start_ns for s in steps], np.int64)
    return Blocks(start, start + np.array([s.duration_ns for s in steps], np.int64), edges, "step")


def whole_run(start_ns: int, end_ns: int) -> Blocks:
    """One block for a recording without steps."""
    return Blocks(np.array([start_ns]), np.array([end_ns + 1]), np.zeros(1, np.int64), "run")


def windowed(steady: Steady, marks: Table, name: str) -> list[Step]:
    """The steady steps that lie inside the profiling windows called `name`.

    A machine that was busy early on makes warm-up reach beyond the windows; then their own steps must do.
    """
    kinds, names = marks.text("kind"), marks.text("name")
    rows = np.flatnonzero(
        kinds.equals("window") & names.equals(name) & (marks.array("process") == steady.process)
    )
    spans = [(int(marks.array("start_ns")[r]), int(marks.array("end_ns")[r])) for r in rows.tolist()]

    def inside(step: Step) -> bool:
        end_ns = step.start_ns + step.duration_ns
        return any(a - SLACK_NS <= step.start_ns and end_ns <= b + SLACK_NS for a, b in spans)

    return [s for s in steady.steps if inside(s)] or [s for s in steady.early if inside(s)]
