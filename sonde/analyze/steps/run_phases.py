"""What a run did besides steps: start and imports, forward passes that belong to no step, saving, shutdown.

In: the marks of a process, its life, its steps; stacks and samples where they are known. Out: phases in the order of
time that together are the whole life of the process, so their lengths sum to it. Steps that follow each other closely
are one phase. In a pause between or after them a model may have been called (forward marks without a step): that is
validation or generation where the program's own functions are called so, else it is not known which. A pause is saving
where most of its samples are in torch.save.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.analyze.steps.program import StepReport
from sonde.columns import Array, Table

START, FORWARD, VALIDATION, GENERATION, SAVING, PAUSE, SHUTDOWN = (
    "start and imports",
    "forward passes outside of steps",
    "validation",
    "generation",
    "saving",
    "between steps",
    "shutdown",
)
SAVE = {"name": r"^_?(legacy_)?save$", "layer": "^python$", "file": r"torch/serialization\.py|safetensors"}
# Names of functions, of the program or of a library that is not torch or Python itself.
PURPOSES = {
    VALIDATION: r"^_*(run_)?(valid|eval|test|estimate_|compute_metric|accuracy)|_(validation|eval|evaluate|test)$",
    GENERATION: r"(^|_)(generate|generation|sample|predict|translate|infer|inference|beam_search|greedy)(_|$)",
}
NOT_THEIRS = re.compile(r"/torch/|/lib/python3\.\d+/(?!site-packages/)|^<frozen")
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
    seen = _Seen(samples, index)
    found: list[RunPhase] = []
    at = life[0]
    for start, end, count in _blocks(report):
        found += _pause(at, start, START if not found else PAUSE, forward, seen)
        found.append(RunPhase("training" if report.kind == "train" else "steps", max(start, at), end, count))
        at = max(end, at)
    found += _pause(at, life[1], SHUTDOWN, forward, seen)
    return [phase for phase in found if phase.end_ns > phase.start_ns]


def work_extent(report: StepReport, marks: Table) -> tuple[int, int]:
    """From the first step or forward pass of the process to the end of the last: what is not start or shutdown."""
    passes = (
        marks.text("kind").equals("phase")
        & marks.text("name").equals("forward")
        & (marks.array("process") == report.process)
    )
    begins = [step.start_ns for step in report.steps] + marks.array("start_ns")[passes].tolist()
    ends = [step.start_ns + step.duration_ns for step in report.steps] + marks.array("end_ns")[
        passes
    ].tolist()
    return min(begins), max(ends)


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


def _pause(start: int, end: int, name: str, forward: Table, seen: _Seen) -> list[RunPhase]:
    """A stretch without steps, divided where forward passes ran in it."""
    if end <= start:
        return []
    begins, ends = forward.array("start_ns"), forward.array("end_ns")
    inside = (begins >= start) & (ends <= end)
    if not inside.any():
        return [RunPhase(seen.pause(name, start, end), start, end, 0)]
    first, last = int(begins[inside].min()), int(ends[inside].max())
    return [
        RunPhase(seen.pause(name if name != SHUTDOWN else PAUSE, start, first), start, first, 0),
        *_by_purpose(begins[inside], last, seen),
        RunPhase(seen.pause(name, last, end), last, end, 0),
    ]


def _by_purpose(begins: Array, last: int, seen: _Seen) -> list[RunPhase]:
    """Passes from the first to `last`: one phase for those in a row with one purpose; a short one has no sample."""
    begins = np.sort(begins)
    whole = seen.purpose(int(begins[0]), last)
    runs: list[tuple[str, int, int]] = []  # purpose, start, number of passes
    for at, until in zip(begins.tolist(), [*begins[1:].tolist(), last], strict=True):
        purpose = seen.purpose(at, until, unknown=runs[-1][0] if runs else whole)
        if runs and runs[-1][0] == purpose:
            runs[-1] = (purpose, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((purpose, at, 1))
    ends = [*(start for _, start, _ in runs[1:]), last]
    return [RunPhase(name, start, end, n) for (name, start, n), end in zip(runs, ends, strict=True)]


class _Seen:
    """What the samples of a process say of a stretch of time."""

    def __init__(self, samples: Table, index: StackIndex) -> None:
        samples = samples.take(np.argsort(samples.array("time_ns"), kind="stable"))
        self._time: Array = samples.array("time_ns")
        self._weight: Array = np.maximum(samples.array("weight_ns"), 0)
        self._whole = self._summed(np.ones(len(samples), np.bool_))
        self._saving = self._summed(in_saving(samples, index))
        self._purposes: dict[str, Array] = {}
        if len(index):
            files = index.frames.text("file")
            theirs = ~files.where(bool(NOT_THEIRS.search(name)) for name in files.values)
            for purpose, names in PURPOSES.items():
                frames = index.frames_where(names, layer="^python$") & theirs
                self._purposes[purpose] = self._summed(_on_stack(samples, index, frames))

    def pause(self, name: str, start: int, end: int) -> str:
        return SAVING if self._mostly(self._saving, start, end) else name

    def purpose(self, start: int, end: int, unknown: str = FORWARD) -> str:
        """What forward passes outside of steps are for; `unknown` where no sample fell into them."""
        if not self._within(self._whole, start, end):
            return unknown
        for name, sums in self._purposes.items():
            if self._mostly(sums, start, end):
                return name
        return FORWARD

    def _summed(self, mask: Mask) -> Array:
        """Time of these samples up to each of all."""
        result: Array = np.concatenate(([0], np.cumsum(np.where(mask, self._weight, 0))))
        return result

    def _within(self, sums: Array, start: int, end: int) -> int:
        low, high = np.searchsorted(self._time, [start, end], "left").tolist()
        return int(sums[high] - sums[low])

    def _mostly(self, sums: Array, start: int, end: int) -> bool:
        whole = self._within(self._whole, start, end)
        return whole > 0 and self._within(sums, start, end) >= MOSTLY * whole


def in_saving(samples: Table, index: StackIndex) -> Mask:
    """Samples that have torch.save on their stack."""
    if not len(index):
        return np.zeros(len(samples), np.bool_)
    return _on_stack(samples, index, index.frames_where(SAVE["name"], layer=SAVE["layer"], file=SAVE["file"]))


def _on_stack(samples: Table, index: StackIndex, frames: Mask) -> Mask:
    stack = samples.array("stack").astype(np.int64)
    known = (stack >= 0) & (stack < len(index))
    found: Mask = known & index.on_stack(frames)[np.where(known, stack, 0)]
    return found
