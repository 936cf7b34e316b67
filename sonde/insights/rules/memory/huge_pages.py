"""Rule 32, transparent huge pages unused.

Condition: the kernel never uses them (enabled=never), the program holds at least 4 GB, and memory-bound
    kernels take at least 30 % of the step.
Saving: only a trial can tell: reports differ in sign.
Not for: small programs and systems that use them already.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.host_layers import host_layers
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_RSS = 4e9
LEAST_MEMORY = 0.3


def judge(subject: Subject) -> Iterator[Finding]:
    if subject.need_settings().get("huge_pages") != "never":
        return
    counters = subject.table("counters")
    rss = counters.array("value")[counters.text("name").equals("rss_bytes")]
    if (
        float(np.max(rss, initial=0.0)) < LEAST_RSS
        or subject.share(host_layers(subject).memory).low < LEAST_MEMORY
    ):
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title="Huge pages are off for a program of several gigabytes",
            why="With pages of 4 KiB the processor looks up addresses far more often than with 2 MiB.",
            evidence=(
                Evidence(
                    f"transparent_hugepage is never; resident memory reaches {np.max(rss) / 1e9:.1f} GB"
                ),
            ),
            saving=None,
            confidence="low",
            fix="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled\nexport THP_MEM_ALLOC_ENABLE=1",
            experiment=Experiment(
                "environment",
                environment={"THP_MEM_ALLOC_ENABLE": "1"},
                note="test it: some kernels get slower",
            ),
        )
    )


RULE = Rule(
    "huge_pages",
    32,
    "settings, resident memory, samples",
    judge,
    scope="cpu",
    breadth=2,
    trial=True,
    way="once",
)
