"""Rule 7, cudaMalloc and cudaFree in steady state.

Condition: in the median step after warm-up allocation calls of the runtime take at least 1 % of the time.
Saving: Σ of their durations, 50 to 150 %: each one also synchronises.
Not for: calls during warm-up, traces without steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array, Table
from sonde.insights.devices import device_saving
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.01
FEWEST_STEPS = 2


def judge(subject: Subject) -> Iterator[Finding]:
    launches, marks = subject.table("launches"), subject.table("marks")
    rows = launches.text("kind").equals("allocate")
    steps = marks.text("kind").equals("step")
    if int(steps.sum()) < FEWEST_STEPS:
        raise NotEnough("the trace names no steps: allocations of the warm-up cannot be told apart")
    start, end = _steps_after_warm_up(subject, marks, steps)
    begin = launches.array("start_ns")
    at = np.searchsorted(start, begin, "right") - 1
    rows &= (at >= 0) & (begin < end[np.maximum(at, 0)])
    length = (launches.array("end_ns") - begin)[rows].astype(np.float64)
    # The median step: what one step paid (a new shape, the end of a warm-up) is no steady state.
    spent = float(np.median(np.bincount(at[rows], length, len(start))))
    share = spent / max(float(np.median(end - start)), 1.0)
    if share < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The allocator asks the driver for memory in steady state: {share:.1%} of the time",
            why="cudaMalloc and cudaFree stop everything; a steady program should find memory in torch's cache.",
            evidence=(
                Evidence(
                    f"{int(rows.sum())} calls, {spent / 1e6:.1f} ms in a median step", "frame", "cudaMalloc"
                ),
            ),
            saving=device_saving(subject, 0.5 * share, 1.5 * share),
            confidence="medium",
            fix="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   # or allocate the largest shape first",
            experiment=Experiment(
                "environment", environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
            ),
            resource="host",
        )
    )


def _steps_after_warm_up(subject: Subject, marks: Table, steps: Mask) -> tuple[Array, Array]:
    order = np.argsort(marks.array("start_ns")[steps], kind="stable")
    start, end = marks.array("start_ns")[steps][order], marks.array("end_ns")[steps][order]
    first = max(max((r.steps.warmup for r in subject.gpu.ranks), default=0), 1)
    first = min(first, len(start) - 1)
    return start[first:], end[first:]


RULE = Rule("device_allocation", 7, "runtime calls", judge, scope="gpu", breadth=0, way="once")
