"""What a run did besides steps: start and imports, forward passes that belong to no step, saving, shutdown.

In: the marks of a process, its life, its steps; stacks and samples where they are known. Out: phases in the order of
time that together are the whole life of the process, so their lengths sum to it. Steps that follow each other closely
are one phase. A pause between or after them is validation or generation where a model was called in it (forward marks
without a step), saving where most samples of the pause are in torch.save, else a pause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.analyze.steps.program import StepReport
from sonde.columns import Array, Table

START, FORWARD, SAVING, PAUSE, SHUTDOWN = (
    "start and imports",
    "forward passes outside of steps",
    "saving",
    "between steps",
    "shutdown",
)
SAVE = {"name": r"^_?(legacy_)?save$", "layer": "^python$", "file": r"torch/serialization\.py|safetensors"}
MOSTLY = 0.5


@dataclass(frozen=True)
class RunPhase:
    """One stretch of the run."""

    name: str
    start_ns: int
    end_ns: int
    count: int  # steps or forward passes in it


def run_phases(
    report: StepReport, marks: Table, life: tuple[int, int], samples: Table, index: StackIndex
) -> list[RunPhase]:
    """The phases of the process that `report` is of; `life` is its first and last moment."""
    forward = marks.take(
        marks.text("kind").equals("phase")
        & marks.text("name").equals("forward")
        & (marks.array("process") == report.process)
    )
    saving = _saving(samples, index)
    found: list[RunPhase] = []
    at = life[0]
    for start, end, count in _blocks(report):
        found += _pause(at, start, START if not found else PAUSE, forward, samples, saving)
        found.append(RunPhase("training" if report.kind == "train" else "steps", max(start, at), end, count))
        at = max(end, at)
    found += _pause(at, life[1], SHUTDOWN, forward, samples, saving)
    return [phase for phase in found if phase.end_ns > phase.start_ns]


def _blocks(report: StepReport) -> list[tuple[int, int, int]]:
    """Start, end and number of steps of each run of steps without a pause."""
    blocks: list[tuple[int, int, int]] = []
    for step in sorted(report.steps, key=lambda s: s.start_ns):
        end = step.start_ns + step.duration_ns
        if blocks and step.start_ns - blocks[-1][1] <= max(report.median_ns, 1.0):
            first, last, count = blocks[-1]
            blocks[-1] = (first, max(last, end), count + 1)
        else:
            blocks.append((step.start_ns, end, 1))
    return blocks


def _pause(start: int, end: int, name: str, forward: Table, samples: Table, saving: Mask) -> list[RunPhase]:
    """A stretch without steps, divided where forward passes ran in it."""
    if end <= start:
        return []
    begins, ends = forward.array("start_ns"), forward.array("end_ns")
    inside = (begins >= start) & (ends <= end)
    if not inside.any():
        return [RunPhase(_named(name, start, end, samples, saving), start, end, 0)]
    first, last = int(begins[inside].min()), int(ends[inside].max())
    return [
        RunPhase(_named(name if name != SHUTDOWN else PAUSE, start, first, samples, saving), start, first, 0),
        RunPhase(FORWARD, first, last, int(inside.sum())),
        RunPhase(_named(name, last, end, samples, saving), last, end, 0),
    ]


def _named(name: str, start: int, end: int, samples: Table, saving: Mask) -> str:
    time: Array = samples.array("time_ns")
    inside = (time >= start) & (time < end)
    weight = samples.array("weight_ns")
    whole = float(weight[inside].sum())
    return SAVING if whole and float(weight[inside & saving].sum()) >= MOSTLY * whole else name


def _saving(samples: Table, index: StackIndex) -> Mask:
    stack = samples.array("stack").astype(np.int64)
    known = (stack >= 0) & (stack < len(index))
    if not len(index):
        return np.zeros(len(samples), np.bool_)
    on = index.on_stack(index.frames_where(SAVE["name"], layer=SAVE["layer"], file=SAVE["file"]))
    found: Mask = known & on[np.where(known, stack, 0)]
    return found
