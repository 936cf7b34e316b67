"""What this machine offers a program, for the tuner: effective CPUs, cores, sockets and NUMA nodes.

The facts are those of `sonde check`: affinity, every cpuset above the process, and the tightest quota.
"""

from __future__ import annotations

from sonde.experiment.tuning.knobs import Place
from sonde.machine.facts import gather
from sonde.machine.tree import Tree, cpu_list


def this_place(tree: Tree | None = None) -> Place:
    """Of the running machine, or of recorded files."""
    tree = tree or Tree()
    facts = gather(tree, environment={})
    cpus = sorted(facts.usable_cpus or ())
    effective = facts.effective_cpus or len(cpus) or 1
    cores = facts.topology.physical_cores or len(cpus) or 1
    nodes = []
    for node in sorted(cpu_list(tree.text("/sys/devices/system/node/online")) or ()):
        mine = cpu_list(tree.text(f"/sys/devices/system/node/node{node}/cpulist")) or frozenset()
        usable = tuple(sorted(c for c in mine if c in cpus))
        if usable:
            nodes.append(usable)
    quota = facts.cgroup.cpu_quota
    return Place(
        effective_cpus=effective,
        physical_cores=min(cores, effective),
        nodes=tuple(nodes),
        cpus=tuple(cpus),
        packages=facts.topology.packages or 1,
        quota=quota if quota is not None and quota < len(cpus) else None,
        huge_pages=facts.system.huge_pages or "unknown",
    )
