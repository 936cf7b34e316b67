"""Rule 7, cudaMalloc and cudaFree in steady state.

Condition: after the first step allocation calls of the runtime take at
    least 1 % of the time.
Saving: Σ of their durations, 50 to 150 %: each one also synchronises.
Not for: calls during warm-up, traces without steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.devices import device_saving, devices
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
    second = np.sort(marks.array("start_ns")[steps])[1]
    rows &= launches.array("start_ns") >= second
    spent = float((launches.array("end_ns") - launches.array("start_ns"))[rows].sum())
    whole = float(sum(d.time.window_ns for d in devices(subject)))
    share = spent / max(whole, 1.0)
    if share < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The allocator asks the driver for memory in steady state: {share:.1%} of the time",
            why="cudaMalloc and cudaFree stop everything; a steady program should find memory in torch's cache.",
            evidence=(Evidence(f"{int(rows.sum())} calls, {spent / 1e6:.1f} ms", "frame", "cudaMalloc"),),
            saving=device_saving(subject, 0.5 * share, 1.5 * share),
            confidence="medium",
            fix="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   # or allocate the largest shape first",
            experiment=Experiment(
                "environment", environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
            ),
            resource="host",
        )
    )


RULE = Rule("device_allocation", 7, "runtime calls", judge, scope="gpu", breadth=0)
