"""Rule 15, GIL contention: the stepping thread waits for Python's global lock while another thread runs Python.

Condition: waiting for the lock (wait reason gil, or take_gil on the stack) takes at least 3 % of the step.
Saving: that wait; 60 to 100 % of it, because the other thread's own work may still cost a processor.
Not for: free-threaded Python, native programs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.03  # catalogue, rule 15
WON_LOW = 0.6


def judge(subject: Subject) -> Iterator[Finding]:
    host = subject.host
    claim = host.samples.text("reason").equals("gil") | subject.host_with("^take_gil$", layer="^native$")
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The training thread waits {share.middle:.0%} of the time for Python's global lock",
            why="Only one thread runs Python at a time; a busy second thread makes the first one queue up.",
            evidence=(
                Evidence(f"{share.middle:.1%} of the step is spent waiting for the GIL", "frame", "take_gil"),
                *_others(subject),
            ),
            saving=subject.saving(share, WON_LOW),
            confidence="high",
            fix="# let the other thread sleep between looks, or give it a process of its own\n"
            "stop.wait(0.1)   # instead of a loop that polls\n"
            "# fewer Python threads: DataLoader(..., pin_memory=False), no busy progress bars",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _others(subject: Subject) -> Iterator[Evidence]:
    """The Python functions that other threads of the process ran on the CPU meanwhile."""
    samples, index = subject.table("samples"), subject.stacks
    inside = subject.in_steady(samples.array("time_ns")) & ~samples.text("state").equals("waiting")
    other = samples.take(np.flatnonzero(inside & (samples.array("thread") != subject.thread)))
    stack = other.array("stack").astype(np.int64)
    stack = stack[(stack >= 0) & (stack < len(index))]
    frame = index.user_line[stack] if len(index) else stack
    frame = frame[frame >= 0]
    if not len(frame):
        return
    row = int(np.bincount(frame).argmax())
    frames = index.frames
    file, line, name = (
        frames.text("file")[row] or "",
        int(frames.array("line")[row]),
        frames.text("name")[row] or "",
    )
    yield Evidence(
        f"meanwhile another thread ran {name} ({file.rpartition('/')[2]}:{line})", "line", name, file, line
    )


RULE = Rule(
    "gil_contention",
    15,
    "waits of the stepping thread",
    judge,
    scope="cpu",
    breadth=0,
    way="waiting for someone",
)
