"""`steps`: how long steps took, with warm-up set apart and phases split.

Times are without the time in which the thread was ready but off the CPU, where that matters; of a step, `taken_ms` is
what was left out of `ms`. Every view takes the length of a step from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from sonde.analyze.steps.program import Step, StepReport, step_reports
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
    in_window: Annotated[bool, Column("in window", meaning="a deep window slowed it: in no median")]
    phase_ms: dict[str, float]  # phase → time; empty where the phases of this step were not recorded


@dataclass(frozen=True)
class ProcessSteps:
    """The steps of one process. Medians are of the steps after warm-up, outside deep windows."""

    process: int | None
    kind: str  # train, inference or user
    count: int
    warmup: int
    left_out: int  # steady steps that ran inside deep windows
    median_ms: float | None
    p10_ms: float | None
    p90_ms: float | None
    phase_ms: dict[str, float]  # median of each phase


@dataclass(frozen=True)
class Steps(ProcessSteps):
    """Those of the process with most steps; `processes` has all."""

    steps: list[StepRow]
    processes: list[ProcessSteps]
    taken_away: dict[str, Any]


def data(recording: Recording, options: ShowOptions) -> Steps:
    """Of the process with most steps."""
    reports = step_reports(recording.table("marks"), recording.table("samples"), recording.table("threads"))
    taken = taken_json(recording)
    if not reports:
        return Steps(None, "", 0, 0, 0, None, None, None, {}, [], [], taken)
    main = max(reports, key=lambda r: (len(r.steps), -r.process))
    return Steps(
        **vars(_process(main)),
        steps=[_step(step) for step in main.steps],
        processes=[_process(report) for report in reports],
        taken_away=taken,
    )


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
