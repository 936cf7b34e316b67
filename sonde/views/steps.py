"""`steps`: how long steps took, with warm-up set apart and phases split.

Times are without the time in which the thread was ready but off the CPU, where that matters; of a step, `taken_ms` is
what was left out of `ms`. Every view takes the length of a step from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sonde.analyze.recording.taken_away import stepping_thread
from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import Step, StepReport
from sonde.analyze.steps.run_phases import run_phases
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from sonde.views.columns import Column
from sonde.views.options import ShowOptions
from sonde.views.taken import taken_json


@dataclass(frozen=True)
class StepRow:
    """One step of the process that made most of them."""

    index: Annotated[int, Column("step", meaning="its number, as the program or Sonde counts")]
    start_ns: Annotated[int, Column("start", "ns", "when it began, by CLOCK_MONOTONIC")]
    ms: Annotated[float, Column("time", "ms", "from its start to its end, without `taken_ms`")]
    taken_ms: Annotated[float, Column("taken", "ms", "ready but off the CPU")]
    in_window: Annotated[
        bool, Column("in window", meaning="a profiling window slowed it down: left out of medians")
    ]
    phase_ms: dict[str, float]  # phase → time; empty where the phases of this step were not recorded


@dataclass(frozen=True)
class ProcessSteps:
    """The steps of one process. Medians are of the steps after warm-up, outside profiling windows."""

    process: int | None
    kind: str  # train, inference or user
    count: int
    warmup: int
    left_out: int  # steady steps that ran inside profiling windows
    median_ms: float | None
    p10_ms: float | None
    p90_ms: float | None
    phase_ms: dict[str, float]  # median of each phase


@dataclass(frozen=True)
class RunPhaseRow:
    """A part of the run; the parts sum to it. Steps of one kind are one part, however often they were interrupted."""

    name: str  # start and imports, training, validation, generation, saving, between steps, shutdown, …
    ms: float
    share: float  # of the life of the process
    count: int  # steps, or outermost calls of modules


@dataclass(frozen=True)
class Steps(ProcessSteps):
    """Those of the process with most steps; `processes` has all."""

    steps: list[StepRow]
    run: list[RunPhaseRow]
    processes: list[ProcessSteps]
    taken_away: dict[str, Any]


def data(recording: Recording, options: ShowOptions) -> Steps:
    """Of the process with most steps."""
    subject = Subject(recording)
    reports = subject.reports
    taken = taken_json(recording, subject)
    if not reports:
        return Steps(None, "", 0, 0, 0, None, None, None, {}, [], [], [], taken)
    main = max(reports, key=lambda r: (len(r.steps), -r.process))
    return Steps(
        **vars(_process(main)),
        steps=[_step(step) for step in main.steps],
        run=_run(recording, main),
        processes=[_process(report) for report in reports],
        taken_away=taken,
    )


def _run(recording: Recording, report: StepReport) -> list[RunPhaseRow]:
    processes = recording.table("processes")
    row = np.flatnonzero(processes.array("process") == report.process)
    steps = report.steps
    life = [steps[0].start_ns, max(s.start_ns + s.duration_ns for s in steps)]
    if len(row):
        told = int(processes.array("start_ns")[row[0]]), int(processes.array("end_ns")[row[0]])
        life = [min(told[0], life[0]) if told[0] > 0 else life[0], max(told[1], life[1])]
    samples = recording.table("samples")
    thread = stepping_thread(recording.table("marks"), recording.table("threads"), report.process)
    # Where its time was taken away it has no stack.
    samples = samples.take((samples.array("thread") == thread) & ~samples.text("reason").equals("preempted"))
    index = StackIndex(recording.table("frames"), recording.table("stacks"))
    sums: dict[str, list[int]] = {}
    for phase in run_phases(report, recording.table("marks"), (life[0], life[1]), samples, index):
        entry = sums.setdefault(phase.name, [0, 0])
        entry[0] += phase.end_ns - phase.start_ns
        entry[1] += phase.count
    whole = max(life[1] - life[0], 1)
    return [RunPhaseRow(name, ns / 1e6, ns / whole, count) for name, (ns, count) in sums.items()]


def _process(report: StepReport) -> ProcessSteps:
    return ProcessSteps(
        process=report.process,
        kind=report.kind,
        count=len(report.steps),
        warmup=report.warmup,
        left_out=report.left_out,
        median_ms=report.median_ns / 1e6,
        p10_ms=report.p10_ns / 1e6,
        p90_ms=report.p90_ns / 1e6,
        phase_ms={name: ns / 1e6 for name, ns in report.phase_ns.items()},
    )


def _step(step: Step) -> StepRow:
    return StepRow(
        index=step.index,
        start_ns=step.start_ns,
        ms=step.own_ns / 1e6,
        taken_ms=step.taken_ns / 1e6,
        in_window=step.in_window,
        phase_ms={name: ns / 1e6 for name, ns in step.phase_ns.items()},
    )
