"""Rule 23, threads above the CPU quota of the container.

Condition: a control group pays for fewer CPUs than the affinity mask shows, and torch runs more threads
    than the quota rounds down to.
Saving: only a trial can tell how much of each period the process is stopped.
Not for: programs without a quota (rule 24 judges the rest).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject


def judge(subject: Subject) -> Iterator[Finding]:
    settings = subject.need_settings()
    quota, threads = settings.get("quota_cpus"), settings.get("threads")
    if not isinstance(quota, (int, float)) or not isinstance(threads, int):
        return
    paid = max(math.floor(quota), 1)
    if threads <= paid:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{threads} threads run on a quota of {quota:g} CPUs",
            why="When the quota of a period is used up, the kernel stops all threads until the next one.",
            evidence=(Evidence(f"cpu.max pays for {quota:g} CPUs; torch.get_num_threads() is {threads}"),),
            saving=None,
            confidence="high",
            fix=f"export OMP_NUM_THREADS={paid}",
            experiment=Experiment(
                "environment", environment={"OMP_NUM_THREADS": str(paid), "MKL_NUM_THREADS": str(paid)}
            ),
        )
    )


RULE = Rule(
    "threads_above_quota",
    23,
    "quota and thread settings",
    judge,
    scope="cpu",
    breadth=0,
    way="with fewer or more hands",
)
