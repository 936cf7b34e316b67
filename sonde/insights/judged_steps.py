"""The steps of a recording under judgement: when they are, how long they last, which thread makes them.

Enters: a `Recording`, complete or not. Leaves: steady steps and their time, without what other programs took away;
of a trace, the steps of its devices. What the recording lacks raises `NotEnough` with what to record.

The time of a step is from its start to the start of the next one, so that work between two calls of a
model counts; steps that a profiling window slowed down are left out of everything sampled.
"""

from __future__ import annotations

import contextlib
from functools import cached_property

import numpy as np

from sonde.analyze.account.extent import run_extent
from sonde.analyze.base.intervals import Spans, union
from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.ranks.comparison import GpuSummary, gpu_summary
from sonde.analyze.ranks.summary import summaries
from sonde.analyze.recording.taken_away import (
    TakenAway,
    levelled,
    main_thread,
    pieces_of,
    stepping_thread,
    taken_away,
)
from sonde.analyze.samples.own_lines import is_native_program
from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import StepReport, step_reports
from sonde.columns import Array, Table
from sonde.insights.line_facts import outer_loop
from sonde.insights.model import NotEnough
from sonde.store.recording import Recording

FEWEST_STEPS = 3  # steady steps below which nothing is said about a step
# A step that long, and so few of them, is no part of the steady state (ours).
STRANGE, RARE, FEW = 20.0, 0.02, 2
RECORD_STEPS = "no steps were found: train with an optimizer, call a model, or mark steps with sonde.step()"
ONLY_START = "the program did nothing but start: all its time is imports and start"
NO_SAMPLES = "no thread was sampled: record the program with sonde run"
RECORD_NATIVE_STEPS = "no steps were found: use torch::optim, or mark steps with sonde_step() of sonde.h"


class JudgedSteps:
    """The steps of one recording, each fact computed once and only when asked."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.meta = recording.meta

    def table(self, name: str) -> Table:
        return self.recording.table(name)

    @cached_property
    def has_device(self) -> bool:
        return len(self.table("kernels")) > 0

    @cached_property
    def reports(self) -> list[StepReport]:
        """The steps of each process."""
        return step_reports(self.table("marks"), self.table("samples"), self.table("threads"))

    @cached_property
    def report(self) -> StepReport:
        """The steps of the process that made most of them."""
        if not self.reports:
            raise NotEnough(RECORD_NATIVE_STEPS if self.native else RECORD_STEPS)
        return max(self.reports, key=lambda r: (len(r.steps), -r.process))

    @cached_property
    def process(self) -> int:
        """The process that makes the steps, else that of the main thread."""
        with contextlib.suppress(NotEnough):
            return self.report.process
        threads = self.table("threads")
        rows = np.flatnonzero(threads.array("thread") == main_thread(self.table("marks"), threads))
        if not len(rows):
            raise NotEnough(RECORD_STEPS)
        return int(threads.array("process")[rows[0]])

    @cached_property
    def unit(self) -> str:
        """What figures are of: a step, the trace of a device, or the run where there are no steps."""
        if self.has_device:
            return "step" if self.names_steps else "trace"
        try:
            return "step" if len(self._steps[0]) else "run"
        except NotEnough:
            return "run"

    @cached_property
    def _steady(self) -> tuple[Array, Array]:
        """Start and end of the steady steps; without steps the run is one, its imports and start set apart."""
        try:
            return self._steps
        except NotEnough:
            if self.has_device:
                raise
            loop = outer_loop(self.table("marks"))
            place = (loop.file, loop.line) if loop is not None else None
            spans = run_extent(self.table("samples"), self.table("threads"), self.thread, self.stacks, place)
            if not len(spans):
                raise NotEnough(ONLY_START if len(self.table("samples")) else NO_SAMPLES) from None
            return spans.starts, spans.ends

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """Start and end of the steady steps that no window slowed (see `StepReport.steady_spans`)."""
        start, end = self.report.steady_spans()
        if len(start) < FEWEST_STEPS:
            raise NotEnough(f"{len(start)} steady steps; at least {FEWEST_STEPS} are needed: run more steps")
        # A window opens before its first step: the pause in front of it is slowed as well.
        marks = self.table("marks")
        windows = marks.take(marks.text("kind").equals("window"))
        spans = union(windows.array("start_ns"), windows.array("end_ns"))
        clear = spans.within(start, end) == 0
        if int(clear.sum()) >= FEWEST_STEPS:
            start, end = start[clear], end[clear]
        # Single steps that take very much longer belong to something else: a compilation, an evaluation.
        own = end - start - pieces_of(self.table("samples"), self.thread).within(start, end)
        strange = own > STRANGE * max(float(np.median(own)), 1.0)
        if strange.mean() <= RARE or strange.sum() <= FEW:
            start, end = start[~strange], end[~strange]
        return start, end

    @cached_property
    def steady(self) -> Spans:
        return union(*self._steady)

    @cached_property
    def steady_steps(self) -> int:
        return len(self._steady[0])

    @property
    def step_starts(self) -> Array:
        """When each steady step begins."""
        return self._steady[0]

    @cached_property
    def taken(self) -> TakenAway:
        """Time in which the stepping thread was ready but off the CPU: of its steady steps, else of its life."""
        try:
            spans: tuple[Array, Array] | None = None if self.has_device else self._steady
        except NotEnough:
            spans = None
        return taken_away(self.table("samples"), self.table("threads"), self.table("marks"), spans)

    @cached_property
    def _own_ns(self) -> Array:
        """Of each steady step the time that was its own: not what was taken away, where that matters."""
        start, end = self._steady
        if not self.taken.matters:
            return np.asarray(end - start, np.float64)
        lost = pieces_of(self.table("samples"), self.thread).within(start, end)
        return levelled(end - start, lost, start)

    @cached_property
    def step_ns(self) -> float:
        """T: the median steady step, as `sonde show steps` has it. Of a device's trace: its steps."""
        if self.has_device:
            return self.device_step_ns
        self._steady  # noqa: B018 - too few of them are not judged
        if self.unit == "run":
            return max(float(np.median(self._own_ns)), 1.0)
        return max(self.report.median_ns, 1.0)

    @cached_property
    def mean_step_ns(self) -> float:
        """The mean of the steady steps: holds what only some of them pay for."""
        return self.device_step_ns if self.has_device else max(float(np.mean(self._own_ns)), 1.0)

    @property
    def step_ms(self) -> float:
        return self.step_ns / 1e6

    @cached_property
    def stacks(self) -> StackIndex:
        return StackIndex(self.table("frames"), self.table("stacks"))

    @cached_property
    def thread(self) -> int:
        """The thread that makes the steps."""
        found = stepping_thread(self.table("marks"), self.table("threads"), self.process)
        if found < 0:
            raise NotEnough("the thread that makes the steps is not known")
        return found

    @cached_property
    def native(self) -> bool:
        """Whether the program has no Python."""
        frames = self.table("frames")
        return len(frames) > 0 and is_native_program(frames)

    @cached_property
    def gpu(self) -> GpuSummary:
        if not self.has_device:
            raise NotEnough("no device events were recorded")
        return gpu_summary(
            summaries(self.table, self.meta.program or "trace", device_name_in(self.meta.details))
        )

    @cached_property
    def device_steps(self) -> int:
        """Steps after warm-up that a device's window holds; 1 when the trace names none."""
        return max((r.steps.count - r.steps.warmup for r in self.gpu.ranks), default=1) or 1

    @cached_property
    def names_steps(self) -> bool:
        """Whether the trace of a device says what its steps are."""
        return any(r.steps.median_ns > 0 for r in self.gpu.ranks)

    @cached_property
    def device_step_ns(self) -> float:
        """The median step of the ranks, or the whole window where no steps are named."""
        medians = [r.steps.median_ns for r in self.gpu.ranks if r.steps.median_ns > 0]
        if medians:
            return float(np.median(medians))
        windows = [float(d.time.window_ns) for r in self.gpu.ranks for d in r.devices]
        if not windows:
            raise NotEnough("all device events have zero duration")
        return max(float(np.median(windows)), 1.0)
