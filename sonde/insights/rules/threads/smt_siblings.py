"""Rule 25, SMT siblings used: two compute threads share the units of one core.

Condition: torch runs more threads than there are cores behind the CPUs that the process may use, and matrix
    products and convolutions take at least 30 % of the step: they keep a core's units busy alone.
Saving: only a trial can tell: siblings slow products down on some processors and help on others.
Not for: threads within the cores, programs that wait for memory or for Python, machines without siblings.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import host_layers
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_MATH = 0.30  # ours: below, other work decides


def judge(subject: Subject) -> Iterator[Finding]:
    settings = subject.need_settings()
    cores, threads = settings.get("physical_cpus"), settings.get("threads")
    if not isinstance(cores, int) or not isinstance(threads, int):
        raise NotEnough("which CPUs share a core was not recorded: record with sonde run")
    mask = settings.get("affinity")
    bound = int(mask.get("main", threads)) if isinstance(mask, dict) else threads
    cpus = min(int(subject.meta.machine.get("usable_cpus") or cores), bound)
    # Beyond the CPUs it is oversubscription or a false mask (rules 24 and 29), whatever the cores are.
    if not 1 <= cores < threads <= cpus:
        return
    math = subject.share(host_layers(subject).math)
    if math.low < LEAST_MATH:
        return
    setting = {"OMP_NUM_THREADS": str(cores), "MKL_NUM_THREADS": str(cores)}
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{threads} compute threads share {cores} cores",
            why="Two threads on one core share its arithmetic units; products gain nothing and wait for each other.",
            evidence=(
                Evidence(f"{cpus} CPUs are siblings on {cores} cores; torch.get_num_threads() is {threads}"),
                Evidence(f"{math.middle:.0%} of the step is in products, convolutions and attention"),
            ),
            saving=None,
            confidence="medium",
            fix=f"export OMP_NUM_THREADS={cores} OMP_PLACES=cores OMP_PROC_BIND=close",
            experiment=Experiment("environment", environment=setting),
        )
    )


RULE = Rule(
    "smt_siblings",
    25,
    "cores, thread settings, samples",
    judge,
    scope="cpu",
    breadth=1,
    trial=True,
    way="with fewer or more hands",
)
