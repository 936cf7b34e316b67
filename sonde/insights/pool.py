"""Threads of the program against the CPUs it may use: what rules 23 to 30 share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject


@dataclass(frozen=True)
class Pool:
    """What the worker threads of the stepping process did in steady steps, as shares of their CPU time."""

    threads: int  # as torch is set to
    cpus: int
    workers: int  # worker threads that were seen
    spinning: float
    imbalance: float
    running: float
    cpu_share: float  # CPU time of all workers over wall time × workers
    host_waits: float  # spinning and imbalance of the stepping thread itself, share of its step
    preempted: float  # share of the stepping thread's time


def pool(subject: Subject) -> Pool:
    """NotEnough when the number of threads was not recorded."""
    threads = subject.need_settings().get("threads")
    if not isinstance(threads, int):
        raise NotEnough("the number of threads was not recorded: record with sonde run")
    workers = subject.workers
    weight = np.maximum(workers.array("weight_ns"), 0).astype(np.float64)
    states = workers.text("state")
    on_cpu = ~states.equals("waiting")
    whole = float(weight[on_cpu].sum())

    def part(state: str) -> float:
        return float(weight[states.equals(state)].sum()) / whole if whole else 0.0

    host = subject.host
    waits = host.samples.text("state").matches(("spinning", "imbalance"))
    seen = len(np.unique(workers.array("thread")))
    return Pool(
        threads,
        subject.cpus,
        seen,
        part("spinning"),
        part("imbalance"),
        part("running"),
        whole / max(float(subject.steady.total_ns) * max(seen, 1), 1.0),
        subject.share(waits).middle,
        host.preempted_share,
    )
