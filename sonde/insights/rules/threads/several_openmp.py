"""Rule 30, several OpenMP runtimes in one process.

Condition: two or more different OpenMP libraries are mapped into the process that makes the steps
    (pytorch#98836: up to 3.3 times slower).
Saving: only a trial can tell: it depends on whether both pools are used at the same time.
Not for: one runtime.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject


def judge(subject: Subject) -> Iterator[Finding]:
    loaded = subject.need_settings().get("openmp")
    if not isinstance(loaded, list) or len(loaded) < 2:
        return
    torchs = next((path for path in loaded if "/torch/" in path), str(loaded[0]))
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{len(loaded)} OpenMP runtimes are loaded into the program",
            why="Each keeps its own pool of threads; together they use more threads than there are CPUs, and spin.",
            evidence=tuple(Evidence(path) for path in loaded),
            saving=None,
            confidence="medium",
            fix=f"# import torch first, or make all libraries use one runtime:\nexport LD_PRELOAD={torchs}",
            experiment=Experiment("environment", environment={"LD_PRELOAD": torchs}),
        )
    )


RULE = Rule(
    "several_openmp",
    30,
    "libraries of the program",
    judge,
    scope="cpu",
    breadth=0,
    way="with fewer or more hands",
)
