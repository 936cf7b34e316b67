"""What rules look at: a recording with the facts that many rules share, each computed once and only when asked.

Enters: a `Recording`, complete or not. Leaves: steady steps and their time, the samples of the thread that
makes the steps, pool workers, operator calls of deep windows, device summaries, settings of the program.
Every fact that the recording lacks raises `NotEnough` with what to record; no fact is ever made up.

The time of a step is from its start to the start of the next one, so that work between two calls of a
model counts; steps that a deep window slowed down are left out of everything sampled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.account.extent import run_extent
from sonde.analyze.account.slices import Sliced, sliced
from sonde.analyze.account.stack_kinds import kind_of_samples
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
from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.analyze.steps.program import StepReport, step_reports
from sonde.columns import Array, Table
from sonde.insights.calls import Calls, window_calls
from sonde.insights.model import Evidence, NotEnough, Saving
from sonde.insights.settings import answers
from sonde.insights.shares import Share, widened, wilson
from sonde.store.recording import Recording

FEWEST_STEPS = 3  # steady steps below which nothing is said about a step
BUSY_WAITS = ("spinning", "imbalance")  # states of samples on the CPU that do no work
STRETCHES = 8  # of a run, whose differences tell how steady a share is
# Of what remains, when all of a step is won back: caches, the allocator and the lock are freer. Ours: loaders, lists
# and copies that were taken out of the pitfalls gained up to so much more than their own time.
REST_GETS_FASTER = 0.25
FEWEST_SAMPLES = (
    30  # host samples below which nothing is judged: a share of a quarter is uncertain by 15 points
)
# A step that long, and so few of them, is no part of the steady state (ours).
STRANGE, RARE, FEW = 20.0, 0.02, 2
RECORD_STEPS = "no steps were found: train with an optimizer, call a model, or mark steps with sonde.step()"
RECORD_NATIVE_STEPS = "no steps were found: use torch::optim, or mark steps with sonde_step() of sonde.h"
RECORD_SAMPLES = "too few samples in steady steps: run more steps, or record with a higher --rate"


@dataclass(frozen=True)
class Host:
    """Samples of the thread that makes the steps, within steady steps; preempted ones are left out."""

    samples: Table
    stack: Array  # row in `stacks`, -1 when unknown
    weight: Array  # float ns
    waiting: Mask
    pool: Mask  # waiting for the other threads of its pool, busily or asleep
    whole_ns: float
    looks: float  # samples that the whole stands for
    preempted_share: float  # of the thread's time, as if it had not been left out
    unseen: float  # share of the steps' wall time in no sample: waits too short to be looked at

    def __len__(self) -> int:
        return len(self.stack)


class Subject:
    """One recording under judgement."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.meta = recording.meta

    def table(self, name: str) -> Table:
        return self.recording.table(name)

    # Steps ------------------------------------------------------------------

    @cached_property
    def has_device(self) -> bool:
        return len(self.table("kernels")) > 0

    @cached_property
    def report(self) -> StepReport:
        """The steps of the process that made most of them."""
        reports = step_reports(self.table("marks"), self.table("samples"), self.table("threads"))
        if not reports:
            raise NotEnough(RECORD_NATIVE_STEPS if self.native else RECORD_STEPS)
        return max(reports, key=lambda r: (len(r.steps), -r.process))

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
            spans = run_extent(self.table("samples"), self.table("threads"), self.thread, self.stacks)
            if not len(spans):
                raise
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
        strange = end - start > STRANGE * max(float(np.median(end - start)), 1.0)
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

    # Samples ----------------------------------------------------------------

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
    def judged_stacks(self) -> Sliced:
        """Kind of work and line of every stack (`sonde.analyze.account`)."""
        return sliced(self.stacks, self.table("samples"), self.thread)

    @cached_property
    def host_kinds(self) -> Array:
        """Code of the kind of work of each host sample."""
        return kind_of_samples(self.host.samples, self.host.stack, self.judged_stacks.kinds)

    def in_steady(self, time_ns: Array) -> Mask:
        """Which moments fall into steady steps."""
        spans = self.steady
        at = np.searchsorted(spans.starts, time_ns, "right") - 1
        inside: Mask = (at >= 0) & (time_ns < spans.ends[np.maximum(at, 0)])
        return inside

    @cached_property
    def host(self) -> Host:
        samples = self.table("samples")
        mine = (samples.array("thread") == self.thread) & self.in_steady(samples.array("time_ns"))
        samples = samples.take(np.flatnonzero(mine))
        weight = np.maximum(samples.array("weight_ns"), 0).astype(np.float64)
        waiting = samples.text("state").equals("waiting")
        preempted = waiting & samples.text("reason").equals("preempted")
        everything = float(weight.sum())
        lost = float(weight[preempted].sum()) / everything if everything else 0.0
        keep = ~preempted
        samples, weight, waiting = samples.take(np.flatnonzero(keep)), weight[keep], waiting[keep]
        if len(samples) < FEWEST_SAMPLES:
            raise NotEnough(f"{RECORD_SAMPLES} ({len(samples)} seen, {FEWEST_SAMPLES} needed)")
        running = weight[~waiting]
        period = float(np.median(running)) if len(running) else float(np.median(weight))
        whole = float(weight.sum())
        stack = samples.array("stack").astype(np.int64)
        stack = np.where((stack >= 0) & (stack < len(self.stacks)), stack, -1)
        unseen = max(1 - everything / max(float(self.steady.total_ns), 1.0), 0.0)
        pool = samples.text("state").matches(BUSY_WAITS) | (waiting & samples.text("reason").equals("idle"))
        return Host(samples, stack, weight, waiting, pool, whole, whole / max(period, 1.0), lost, unseen)

    def host_mask(self, stacks: Mask) -> Mask:
        """Host samples whose stack is in a mask over `stacks`.

        On a busy machine a thread waits for those of its pool whose CPU another program has: that is not the work
        that its stack names, and in no claim.
        """
        at = self.host.stack
        if not len(stacks):
            return np.zeros(len(at), np.bool_)
        found: Mask = (at >= 0) & stacks[np.maximum(at, 0)]
        return found & ~self.host.pool if self.taken.matters else found

    def host_with(self, name: str | None = None, **columns: str) -> Mask:
        """Host samples with a matching frame anywhere on their stack."""
        index = self.stacks
        return self.host_mask(index.on_stack(index.frames_where(name, **columns)))

    def host_in_op(self, pattern: str) -> Mask:
        """Host samples inside an operator whose name matches."""
        return self.host_with(pattern, layer="^op$")

    def host_at(self, places: Iterable[tuple[str, int]]) -> Mask:
        """Host samples with one of these lines of the user anywhere on their stack."""
        index = self.stacks
        files, lines = index.frames.text("file"), index.frames.array("line")
        wanted = np.zeros(len(index.frames), np.bool_)
        for file, line in places:
            wanted |= files.equals(file) & (lines == line)
        return self.host_mask(index.on_stack(wanted & index.users_python))

    def places(self, claim: Mask) -> set[tuple[str, int]]:
        """The user's own lines (file, line) that are innermost in these host samples."""
        at = self.host.stack[claim]
        rows = np.unique(self.stacks.user_line[at[at >= 0]]) if len(self.stacks) else np.zeros(0, np.int64)
        frames = self.stacks.frames
        return {
            (frames.text("file")[r] or "", int(frames.array("line")[r])) for r in rows[rows >= 0].tolist()
        }

    def share(self, claim: Mask) -> Share:
        """Share of the step that the host samples in the mask stand for.

        Its bounds are the wider of two: what the number of samples leaves open, and what the run itself
        shows, where stretches of it differ by more than that (another program, a clock that changes).
        """
        host = self.host
        counted = wilson(float(host.weight[claim].sum()), host.whole_ns, host.looks)
        whole = np.bincount(self._stretch, host.weight, STRETCHES)
        if (whole <= 0).any():
            return counted
        return widened(counted, np.bincount(self._stretch[claim], host.weight[claim], STRETCHES) / whole)

    @cached_property
    def _stretch(self) -> Array:
        """For each host sample the stretch of the run that it is in: so many of equal numbers of samples."""
        order = np.argsort(self.host.samples.array("time_ns"), kind="stable")
        found = np.empty(len(order), np.int64)
        found[order] = np.arange(len(order)) * STRETCHES // max(len(order), 1)
        return found

    def saving(self, share: Share, low: float = 1.0, high: float = 1.0) -> Saving:
        """What a step would lose if a fix won back `low` to `high` of a share.

        Of a median step at least, of a mean step at most: where only some steps pay, both are true. At most
        the rest of the step gets faster too, the more so the more is gone.
        """
        shortest, longest = sorted((self.step_ns, self.mean_step_ns))
        most = min(share.high * high, 1.0)
        most = 1 - (1 - most) * (1 - REST_GETS_FASTER * most)
        least = share.low * low if low >= 0 else share.high * low
        return Saving(min(least, most) * shortest / 1e6, most * longest / 1e6, longest / 1e6)

    def lines(self, claim: Mask, limit: int = 2) -> list[Evidence]:
        """The user's own lines behind host samples, heaviest first, as evidence."""
        host = self.host
        at = host.stack[claim]
        frame = np.where(at >= 0, self.stacks.user_line[np.maximum(at, 0)], -1) if len(self.stacks) else at
        frames = self.stacks.frames
        known = frame >= 0
        weight = np.bincount(frame[known], host.weight[claim][known], minlength=len(frames))
        found: dict[tuple[str, int, str], float] = {}
        for row in np.flatnonzero(weight).tolist():
            place = (
                frames.text("file")[row] or "",
                int(frames.array("line")[row]),
                frames.text("name")[row] or "",
            )
            found[place] = found.get(place, 0.0) + float(weight[row])
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [
            Evidence(
                f"{name} ({file.rpartition('/')[2]}:{line}): {ns / host.whole_ns:.1%} of the step",
                "line",
                name,
                file,
                line,
            )
            for (file, line, name), ns in ordered[:limit]
        ]

    @cached_property
    def each_other(self) -> float:
        """Share of the stepping process's CPU time, in steady steps, in which threads of a pool wait for each other."""
        threads, samples = self.table("threads"), self.table("samples")
        mine = threads.array("thread")[threads.array("process") == self.process]
        chosen = np.isin(samples.array("thread"), mine) & self.in_steady(samples.array("time_ns"))
        state, weight = samples.text("state"), np.maximum(samples.array("weight_ns"), 0)
        whole = float(weight[chosen & ~state.equals("waiting")].sum())
        return float(weight[chosen & state.matches(BUSY_WAITS)].sum()) / whole if whole else 0.0

    @cached_property
    def workers(self) -> Table:
        """Samples of the pool workers of the same process, in steady steps."""
        threads, samples = self.table("threads"), self.table("samples")
        mine = threads.array("thread")[
            (threads.array("process") == self.process) & threads.text("kind").equals("omp")
        ]
        chosen = np.isin(samples.array("thread"), mine) & self.in_steady(samples.array("time_ns"))
        return samples.take(np.flatnonzero(chosen))

    # Marks and settings ---------------------------------------------------------

    def marks(self, kind: str) -> Table:
        """Marks of one kind of the process that makes the steps."""
        marks = self.table("marks")
        return marks.take(
            np.flatnonzero(marks.text("kind").equals(kind) & (marks.array("process") == self.process))
        )

    def steady_marks(self, kind: str, name: str | None = None) -> Table:
        """Marks of one kind that begin in steady steps."""
        marks = self.marks(kind)
        keep = self.in_steady(marks.array("start_ns"))
        if name is not None:
            keep &= marks.text("name").equals(name)
        return marks.take(np.flatnonzero(keep))

    @cached_property
    def native(self) -> bool:
        """Whether the program has no Python."""
        frames = self.table("frames")
        return len(frames) > 0 and is_native_program(frames)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the program said about itself: threads, flags, optimizer, loaders. Later words win."""
        found: dict[str, Any] = {}
        marks = self.table("marks")
        rows = marks.text("kind").equals("settings")
        with contextlib.suppress(NotEnough):  # no steps: any process may speak
            rows &= marks.array("process") == self.process
        for text in marks.text("extra").take(np.flatnonzero(rows)).tolist():
            for key, value in answers(json_text.object_of(text)).items():
                grows = key in ("loaders", "optimizers")
                found[key] = [*found.get(key, []), *value] if grows else value
        return found

    @cached_property
    def environment(self) -> dict[str, str]:
        """Variables that steer speed: at the start, and as the program set them."""
        return {**self.meta.environment, **self.settings.get("environment", {})}

    def need_settings(self) -> dict[str, Any]:
        if not self.settings:
            raise NotEnough("the program's settings were not recorded: record it with sonde run")
        return self.settings

    def counter_steady(self, name: str) -> float:
        """Growth of a counter over the steady steps, per second."""
        counters = self.table("counters")
        rows = counters.text("name").equals(name) & np.isin(counters.array("process"), [self.process, -1])
        time_ns, value = counters.array("time_ns")[rows], counters.array("value")[rows]
        inside = (time_ns >= self.steady.starts[0]) & (time_ns < self.steady.ends[-1])
        time_ns, value = time_ns[inside], value[inside]
        if len(value) < 2 or time_ns.max() <= time_ns.min():
            raise NotEnough(f"too few readings of {name} in steady steps: run for some seconds")
        order = np.argsort(time_ns, kind="stable")
        return float((value[order][-1] - value[order][0]) / ((time_ns.max() - time_ns.min()) / 1e9))

    # Operator calls ---------------------------------------------------------------

    @cached_property
    def calls(self) -> Calls:
        """Operator calls of the deep windows (of a trace: of all its steps), with self times."""
        return window_calls(self)

    def call_share(self, rows: Mask) -> Share:
        """Share of a steady step in these calls of the windows (see `Calls.share`).

        The profiler makes a step in a window longer, by a cost per call that short calls feel most. So the
        share of long calls is at least what the window shows, and at most that times how much longer its steps are.
        """
        seen = self.calls.share(rows)
        longer = max(self.calls.whole_ns / max(self.calls.steps, 1) / self.step_ns, 1.0)
        return Share(min(seen, 1.0), min(seen, 1.0), min(seen * longer, 1.0), float(self.calls.steps))

    # Devices --------------------------------------------------------------------

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
            raise NotEnough("no device event lasts any time")
        return max(float(np.median(windows)), 1.0)
