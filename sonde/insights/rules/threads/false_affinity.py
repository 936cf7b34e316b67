"""Rule 29, false affinity: compute threads are bound to too few CPUs, or several to the same CPU.

Condition: torch runs at least two threads, and the process may use fewer CPUs than threads although the
    launcher had more, or two and more threads are bound to the same single CPU.
Saving: the kernels' share times (1 - CPUs used / CPUs offered), 30 to 100 % of it, and the waits of the
    pool.
Not for: one thread, and masks that hold all CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject


def judge(subject: Subject) -> Iterator[Finding]:
    settings = subject.need_settings()
    mask, threads = settings.get("affinity"), settings.get("threads")
    if not isinstance(mask, dict) or not isinstance(threads, int):
        raise NotEnough("the threads' CPUs were not recorded: record with sonde run")
    offered = int(subject.meta.machine.get("usable_cpus") or mask.get("online") or 1)
    used, together = int(mask.get("main", offered)), int(mask.get("pinned_together", 0))
    crowded = together >= 2 and threads >= 2
    if threads < 2 or offered < 2 or not (crowded or used < min(threads, offered)):
        return
    cpus = 1 if crowded else max(used, 1)
    waits = subject.host.samples.text("state").matches(("spinning", "imbalance"))
    claim = in_kernel(subject) | waits
    share = subject.share(claim)
    lost = 1 - cpus / offered
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{threads} compute threads are bound to {cpus} of {offered} CPUs",
            why="Threads on one CPU take turns; the other CPUs stay idle.",
            evidence=(
                Evidence(
                    f"the main thread may use {used} CPU(s); {together} threads are bound to one same CPU",
                    "line",
                    "",
                    *subject.called_at("sched_setaffinity"),
                ),
                Evidence(f"{share.middle:.0%} of the step is in kernels or waits for the pool"),
            ),
            saving=subject.saving(share, 0.3 * lost, min(1.3 * lost, 0.95)),
            confidence="high",
            fix="unset GOMP_CPU_AFFINITY KMP_AFFINITY   # and taskset, sched_setaffinity in the launcher\n"
            "export OMP_PLACES=cores OMP_PROC_BIND=close",
            experiment=Experiment(
                "flag",
                environment={"GOMP_CPU_AFFINITY": None, "KMP_AFFINITY": None},
                code="import os; os.sched_setaffinity = lambda *a: None",
            ),
        ),
        claim,
    )


RULE = Rule(
    "false_affinity",
    29,
    "CPUs of the threads, samples",
    judge,
    scope="cpu",
    breadth=0,
    way="with fewer or more hands",
)
