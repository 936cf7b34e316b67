"""Rule 34, migrations: the scheduler moves a thread from CPU to CPU again and again.

Condition: the thread that moved most often did so more than 50 times per second of the run, and kernels take
    at least 30 % of the step: each move leaves warm caches behind.
Saving: only a trial can tell.
Not for: kernels that do not count moves (no CONFIG_SCHED_DEBUG), programs bound to CPUs already.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

MOST_PER_S = 50.0  # catalogue, rule 34
LEAST_KERNEL = 0.30  # ours
BINDING = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}


def judge(subject: Subject) -> Iterator[Finding]:
    seen = subject.need_settings().get("scheduling")
    moves = seen.get("most_moves") if isinstance(seen, dict) else None
    if not isinstance(seen, dict) or not isinstance(moves, int):
        raise NotEnough("moves between CPUs were not recorded: this kernel does not count them")
    rate = moves / max(float(seen.get("seconds", 0.0)), 1.0)
    if rate <= MOST_PER_S or "OMP_PROC_BIND" in subject.environment:
        return
    kernel = subject.share(in_kernel(subject))
    if kernel.low < LEAST_KERNEL:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"A thread changes its CPU {rate:.0f} times per second",
            why="On the new CPU its caches are cold; what it had loaded must come from memory again.",
            evidence=(
                Evidence(f"{moves:,} moves in {float(seen['seconds']):.0f} s"),
                Evidence(f"{kernel.middle:.0%} of the step is in kernels"),
            ),
            saving=None,
            confidence="low",
            fix="export " + " ".join(f"{k}={v}" for k, v in BINDING.items()),
            experiment=Experiment("environment", environment=BINDING),
        )
    )


RULE = Rule(
    "cpu_migrations",
    34,
    "moves between CPUs, samples",
    judge,
    scope="cpu",
    breadth=2,
    trial=True,
    way="with fewer or more hands",
)
