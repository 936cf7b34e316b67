"""Rule 20, worker restart: a DataLoader restarts its worker processes in every epoch.

Condition: workers > 0, persistent_workers=False, at least two epochs were seen, and starting an iterator
    together with its first batch takes at least 3 % of the time from the first to the last epoch.
Saving: from the last step of an epoch to the first batch of the next (old workers end, new ones begin and make one),
    less an ordinary batch, spread over the steps; 70 to 110 %, and never the whole step.
Not for: one epoch, persistent workers, loaders without workers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.loading import claimed, loading
from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.03  # ours


def judge(subject: Subject) -> Iterator[Finding]:
    seen = loading(subject)
    if seen.workers <= 0 or seen.settings.get("persistent_workers"):
        return
    starts = subject.marks("phase")
    starts = starts.take(np.flatnonzero(starts.text("name").equals("dataloader_start")))
    starts = starts.take(np.flatnonzero(subject.in_steady(starts.array("start_ns"))))
    if len(starts) < 2:
        return
    nexts = subject.steady_marks("phase", "dataloader")
    begin = np.sort(nexts.array("start_ns"))
    duration = (nexts.array("end_ns") - nexts.array("start_ns"))[
        np.argsort(nexts.array("start_ns"), kind="stable")
    ]
    opened = np.sort(starts.array("start_ns"))
    first = np.searchsorted(begin, opened)
    opened, first = opened[first < len(begin)], first[first < len(begin)]
    if not len(first):
        return
    # From the end of the epoch's last step: the old workers must end before new ones begin.
    ended = np.sort([s.start_ns + s.duration_ns for s in subject.report.steps])
    before = ended[np.maximum(np.searchsorted(ended, opened, "right") - 1, 0)]
    edge = np.median(begin[first] + duration[first] - np.minimum(before, opened))
    usual = float(np.median(np.delete(duration, first))) if len(duration) > len(first) else 0.0
    each_ns = max(float(edge) - usual, 0.0)
    total_ns = each_ns * len(starts)
    share = total_ns / max(float(subject.steady.total_ns), 1.0)
    if share < LEAST_SHARE:
        return
    per_step_ms = share * subject.step_ms
    # The new workers are waited for where the loader is iterated over.
    waits = claimed(subject)
    lines = subject.lines(waits, 1) if waits is not None else []
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Every epoch restarts its loader workers: {each_ns / 1e6:.0f} ms each time",
            why="Without persistent_workers the processes end with the epoch and the next one waits for new ones.",
            evidence=(
                Evidence(
                    f"{len(starts)} starts in {subject.steady_steps} steady steps, {share:.1%} of their time",
                    "mark",
                    "dataloader_start",
                ),
                Evidence(f"num_workers={seen.workers}, persistent_workers=False"),
                *lines,
            ),
            saving=Saving(0.7 * per_step_ms, min(1.1 * per_step_ms, 0.99 * subject.step_ms), subject.step_ms),
            confidence="high",
            fix=f"DataLoader(..., num_workers={seen.workers}, persistent_workers=True)",
            experiment=Experiment(
                "arguments", target="torch.utils.data.DataLoader", arguments={"persistent_workers": True}
            ),
            resource="input",
            work="loading",
        )
    )


RULE = Rule(
    "worker_restart", 20, "epochs and waits of the DataLoader", judge, scope="cpu", breadth=0, way="once"
)
