"""Rule 28, multi-instance: a small model leaves most CPUs idle during inference.

Condition: inference on at least 4 usable CPUs (ours) with at least 2 threads, and the useful CPU time of the
    stepping thread and its pool is less than 60 % of what its threads could do.
Saving: none of a single request's time; k instances answer E(N/k)/E(N) as many requests. Only a trial can tell.
Not for: training, programs with a DataLoader that needs the CPUs, machines of a few CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.pool import pool
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

MOST_EFFICIENT = 0.60  # catalogue, rule 28
FEWEST_CPUS = 4


def judge(subject: Subject) -> Iterator[Finding]:
    phases = subject.marks("phase").text("name")
    if phases.equals("backward").any() or phases.equals("optimizer").any():
        return
    if not phases.equals("forward").any():
        raise NotEnough("no forward pass of a module was seen")
    seen = pool(subject)
    threads = min(seen.threads, seen.cpus)
    if phases.equals("dataloader").any() or seen.cpus < FEWEST_CPUS or threads < 2:
        return
    host, workers = subject.host, subject.workers
    useful = float(host.weight[host.samples.text("state").equals("running")].sum())
    helped = workers.text("state").equals("running")
    useful += float(np.maximum(workers.array("weight_ns"), 0)[helped].sum())
    efficiency = useful / max(float(subject.steady.total_ns) * threads, 1.0)
    if efficiency >= MOST_EFFICIENT:
        return
    instances = max(seen.cpus // 2, 2)
    each = max(seen.cpus // instances, 1)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{threads} threads do {efficiency:.0%} of the work that they could: run several instances",
            why="A small model cannot be split further; independent requests can.",
            evidence=(
                Evidence(
                    f"{efficiency:.0%} of the time of {threads} threads is useful work; {seen.cpus} CPUs usable"
                ),
            ),
            saving=None,
            confidence="low",
            fix=f"# {instances} processes with {each} threads each, for example\n"
            f"for i in $(seq 0 {instances - 1}); do OMP_NUM_THREADS={each} "
            f"taskset -c $((i * {each}))-$((i * {each} + {each - 1})) python serve.py & done",
            experiment=Experiment("patch", note="compare requests per second, not the time of one"),
        )
    )


RULE = Rule(
    "multi_instance",
    28,
    "samples of all threads, thread settings",
    judge,
    scope="cpu",
    breadth=2,
    trial=True,
    way="with fewer or more hands",
)
