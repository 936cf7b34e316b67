"""Rule 33, NUMA remote: threads run on several memory nodes, and nearly all memory lies on one.

Condition: the process may run on CPUs of two or more nodes, at least 80 % of its memory (and 256 MB) lies
    on one of them, torch runs at least two threads, and kernels that wait for memory take 30 % of the step.
Saving: only a trial can tell: how much slower remote memory is was not measured here.
Not for: one node, small programs, memory that is spread evenly.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import host_layers
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_ON_ONE = 0.80  # catalogue, rule 33
LEAST_BYTES = 256 << 20  # ours: less fits the caches of such machines
LEAST_MEMORY = 0.30  # ours


def judge(subject: Subject) -> Iterator[Finding]:
    settings = subject.need_settings()
    held, threads = settings.get("numa_bytes"), settings.get("threads")
    if not isinstance(held, dict) or not isinstance(threads, int):
        raise NotEnough("the memory of each node was not recorded: record with sonde run")
    total = sum(int(n) for n in held.values())
    if len(held) < 1 or threads < 2 or total < LEAST_BYTES:
        return
    node = max(held, key=lambda n: int(held[n]))
    share = int(held[node]) / total
    memory = subject.share(host_layers(subject).memory)
    if share < LEAST_ON_ONE or memory.low < LEAST_MEMORY:
        return
    spread = ", ".join(f"node {n} {int(b) / total:.0%}" for n, b in held.items())
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{share:.0%} of the memory lies on node {node}, and threads run on others too",
            why="Memory of another node is farther away, and one node's memory serves all threads alone.",
            evidence=(
                Evidence(f"{total / 1e9:.1f} GB: {spread}"),
                Evidence(f"{memory.middle:.0%} of the step is in kernels that move memory"),
            ),
            saving=None,
            confidence="medium",
            fix=f"numactl --cpunodebind={node} --membind={node} python script.py   # one instance per node\n"
            "numactl --interleave=all python script.py                # or all nodes for one instance",
            experiment=Experiment(
                "patch", note="compare both commands: sonde prove --before CMD --after CMD"
            ),
        )
    )


RULE = Rule(
    "numa_remote",
    33,
    "memory by node, thread settings, samples",
    judge,
    scope="cpu",
    breadth=1,
    way="with fewer or more hands",
)
