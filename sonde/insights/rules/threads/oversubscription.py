"""Rule 24, oversubscription: more compute threads than CPUs.

Condition: torch runs more threads than 1.2 times the CPUs that the process may use (affinity and quota).
Saving: the stepping thread's waits at the end of parallel regions and for a CPU: from a tenth of them to
    all and a share of the rest; without parallel work (under 5 % of such waits) nothing is said.
Not for: threads within the CPUs; threads bound to one CPU (rule 29).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.pool import pool
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

FACTOR = 1.2  # catalogue, rule 24
LEAST_WAITS = 0.05


def judge(subject: Subject) -> Iterator[Finding]:
    seen = pool(subject)
    if seen.threads <= FACTOR * seen.cpus:
        return
    host = subject.host
    claim = host.samples.text("state").matches(("spinning", "imbalance"))
    claim |= host.waiting & host.samples.text("reason").matches(("lock", "idle", "other"))
    waits = subject.share(claim)
    lost = min(waits.middle + seen.preempted, 0.95)
    if lost < LEAST_WAITS:
        return
    try:
        switches = subject.counter_steady("involuntary_switches")
        rate: tuple[Evidence, ...] = (Evidence(f"{switches:.0f} involuntary context switches per second"),)
    except NotEnough:
        rate = ()
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{seen.threads} compute threads share {seen.cpus} CPUs",
            why="A parallel region ends when its last thread does, and that one waits for a CPU that others hold.",
            evidence=(
                Evidence(
                    f"torch.get_num_threads() is {seen.threads}; the process may use {seen.cpus} CPUs",
                    "line",
                    "",
                    *subject.called_at("set_num_threads"),
                ),
                Evidence(
                    f"the main thread waits {waits.middle:.0%} of the step for its pool, "
                    f"{seen.preempted:.0%} for a CPU"
                ),
                *rate,
            ),
            saving=subject.saving(exact(lost, 1.0), 0.1, min(1.0, (0.25 + 0.75 * lost) / lost)),
            confidence="high",
            fix=f"export OMP_NUM_THREADS={seen.cpus}   # or torch.set_num_threads({seen.cpus})",
            experiment=Experiment(
                "flag",
                environment={"OMP_NUM_THREADS": str(seen.cpus), "MKL_NUM_THREADS": str(seen.cpus)},
                code=f"import torch; torch.set_num_threads({seen.cpus}); torch.set_num_threads = lambda n: None",
            ),
        ),
        claim,
    )


RULE = Rule(
    "oversubscription",
    24,
    "thread settings and samples",
    judge,
    scope="cpu",
    breadth=0,
    way="with fewer or more hands",
)
