"""Rule 26, spin share: pool threads burn CPU time waiting while something else needs it.

Condition: at least half of the workers' CPU time is spinning, and waiting was made active on purpose
    (OMP_WAIT_POLICY=active, a long KMP_BLOCKTIME or GOMP_SPINCOUNT). Or at least half of all CPU time is threads that
    wait for each other while much of the stepping thread's time is taken away: another program holds a core, the
    thread on it is late at every barrier, and all others wait for it.
Saving: the stepping thread's waits for CPU and pool at most; at least 0, and beside another program nothing is sure.
Not for: spinning that costs nobody anything: idle CPUs, default settings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.pool import Pool, pool
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_SPIN = 0.5
LEAST_CPU = 0.2  # of the wall time: workers that hardly run do not matter
LONG_BLOCKTIME_MS = 1000


def judge(subject: Subject) -> Iterator[Finding]:
    seen = pool(subject)
    bound = subject.settings.get("affinity")
    pinned = isinstance(bound, dict) and int(bound.get("main", seen.threads)) < min(seen.threads, seen.cpus)
    if pinned:
        return  # its own binding holds the threads back: `false_affinity` says so
    if subject.crowded and subject.each_other >= LEAST_SPIN:
        yield _beside_another_program(subject, seen)
        return
    if not seen.workers or seen.spinning + seen.imbalance < LEAST_SPIN or seen.cpu_share < LEAST_CPU:
        return
    on_purpose = _active(subject.environment)
    if not on_purpose or seen.threads > seen.cpus:
        return
    waits = min(seen.host_waits + seen.preempted, 0.9)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Pool threads busy-wait for {seen.spinning + seen.imbalance:.0%} of their CPU time ({on_purpose})",
            why="Threads that busy-wait answer fast, but take CPU time from Python, loaders and other programs.",
            evidence=(
                Evidence(
                    f"{seen.workers} worker(s), on the CPU {seen.cpu_share:.0%} of the time, "
                    f"{seen.running:.0%} of it working"
                ),
                Evidence(
                    f"the main thread waits {seen.host_waits:.1%} for the pool and {seen.preempted:.1%} for a CPU"
                ),
            ),
            saving=subject.saving(exact(max(waits, 0.02), 1.0), 0.0, 1.0),
            confidence="medium",
            fix="export OMP_WAIT_POLICY=PASSIVE   # or fewer threads: OMP_NUM_THREADS=1 for regions this small",
            experiment=Experiment(
                "environment", environment={"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
            ),
        )
    )


def _beside_another_program(subject: Subject, seen: Pool) -> Finding:
    host = subject.host
    waits = float(host.weight[host.pool].sum()) / max(float(host.weight.sum()), 1.0)
    working = float(host.weight[~host.pool].sum()) + _worked_ns(subject)
    alone_ms = working / max(float(host.weight.sum()), 1.0) * subject.step_ms
    whole_ms = subject.step_ms / max(1 - subject.taken.share, 0.01)
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{subject.each_other * 100:.0f} % of CPU time is OpenMP threads waiting for each other: "
            "another program holds a core",
            why="A parallel region ends when its last thread does. The one whose core is taken comes late, and the "
            "others burn CPU time until it does.",
            evidence=(
                Evidence(
                    f"{subject.taken.name} was ready but off the CPU {subject.taken.share:.0%} of the time"
                ),
                Evidence(
                    f"{seen.threads} threads on {seen.cpus} CPUs; "
                    f"{waits:.0%} of the rest of a step waits for the pool"
                ),
                Evidence(
                    f"without these waits all threads together work {alone_ms:.3g} ms per step: "
                    "one thread would need about as long"
                ),
            ),
            # What strangers cause is no mistake of the program, and may be over by now.
            saving=Saving(0.0, waits * subject.step_ms, whole_ms),
            confidence="low",
            fix="export OMP_WAIT_POLICY=PASSIVE   # or one thread: OMP_NUM_THREADS=1",
            experiment=Experiment(
                "environment", environment={"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
            ),
            work="taken",
        )
    )


def _worked_ns(subject: Subject) -> float:
    """What the pool's workers worked in steady steps, their waits left out."""
    workers = subject.workers
    running = workers.text("state").equals("running")
    return float(np.maximum(workers.array("weight_ns")[running], 0).sum())


def _active(environment: dict[str, str]) -> str:
    """The setting that makes threads wait actively, or nothing."""
    if environment.get("OMP_WAIT_POLICY", "").lower() == "active":
        return "OMP_WAIT_POLICY=ACTIVE"
    block = environment.get("KMP_BLOCKTIME", "").lower()
    if block == "infinite" or (block.rstrip("ms").isdigit() and int(block.rstrip("ms")) >= LONG_BLOCKTIME_MS):
        return f"KMP_BLOCKTIME={block}"
    spins = environment.get("GOMP_SPINCOUNT", "").lower()
    return f"GOMP_SPINCOUNT={spins}" if spins == "infinite" else ""


RULE = Rule(
    "spin_share", 26, "samples of pool threads", judge, scope="cpu", breadth=0, way="with fewer or more hands"
)
