"""Everything that `sonde check` knows about a machine, gathered once.

Enters: a tree (the running machine, or recorded files), a process, an
environment. Leaves: `Facts`, and in `unknown` what could not be found and why.

Effective CPUs = CPUs in the affinity mask and in every cpuset above the
process, and no more than the whole CPUs that the tightest quota pays for.
"""

from __future__ import annotations

import math
import platform
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from sonde.machine import cgroups, gpus, isa, libraries, permissions, processor, system, topology
from sonde.machine.torch_probe import TorchFacts
from sonde.machine.tree import Tree, cpu_list, to_cpu_list


@dataclass(frozen=True)
class Facts:
    """A machine as one process sees it. None is "not known"."""

    architecture: str
    processor: processor.Processor
    isa: isa.Isa
    usable_cpus: frozenset[int] | None  # affinity and cpusets
    effective_cpus: int | None
    affinity: frozenset[int] | None
    cgroup: cgroups.CgroupLimits
    topology: topology.Topology
    system: system.System
    permissions: permissions.Permissions
    gpus: tuple[gpus.Gpu, ...]
    environment: dict[str, str]
    container: bool
    python: str
    libraries: libraries.Libraries | None = None  # of the process asked about, or of torch's
    torch: TorchFacts | None = None
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def memory_limit_bytes(self) -> int | None:
        limits = [x for x in (self.cgroup.memory_bytes, self.system.memory_bytes) if x is not None]
        return min(limits, default=None)


def gather(
    tree: Tree | None = None,
    pid: str = "self",
    environment: dict[str, str] | None = None,
    torch: TorchFacts | None = None,
) -> Facts:
    """Read the machine. With `pid` also the libraries that process loaded, and its environment."""
    tree = tree or Tree()
    cpu = processor.read_processor(tree)
    limits = cgroups.read_limits(tree, pid)
    affinity = _affinity(tree, pid)
    online = topology.online_cpus(tree, cpu.cores_by_cpu)
    usable = _usable(affinity, limits.cpus, online)
    loaded = None if pid == "self" else libraries.of_process(tree, pid)
    found = Facts(
        architecture=platform.machine() if tree.live else _architecture(cpu),
        processor=cpu,
        isa=_isa(tree, cpu),
        usable_cpus=usable,
        effective_cpus=_effective(usable, limits.cpu_quota),
        affinity=affinity,
        cgroup=limits,
        topology=topology.read_topology(tree, usable, cpu.cores_by_cpu),
        system=system.read_system(tree, usable),
        permissions=permissions.read_permissions(tree, pid),
        gpus=gpus.read_gpus(tree),
        environment=_environment(tree, pid, environment),
        container=tree.path("/.dockerenv").exists() or tree.path("/run/.containerenv").exists(),
        python=torch.python if torch else sys.version.split()[0],
        libraries=loaded or (torch.libraries if torch else None),
        torch=torch,
    )
    found.unknown.update(_unknown(found))
    return found


def to_json(facts: Facts) -> dict[str, Any]:
    """Stable, documented keys; see docs/check.md."""
    limits, topo, sysinfo = facts.cgroup, facts.topology, facts.system
    return {
        "cpu_model": facts.processor.model,
        "cpu_vendor": facts.processor.vendor,
        "architecture": facts.architecture,
        "virtual": facts.processor.virtual,
        "container": facts.container,
        "isa": list(facts.isa.usable),
        "isa_level": facts.isa.level,
        "isa_disabled_by_system": list(facts.isa.disabled),
        "isa_source": facts.isa.source,
        "avx10_version": facts.isa.avx10_version,
        "effective_cpus": facts.effective_cpus,
        "usable_cpus": None if facts.usable_cpus is None else to_cpu_list(facts.usable_cpus),
        "affinity_cpus": None if facts.affinity is None else to_cpu_list(facts.affinity),
        "cpuset_cpus": None if limits.cpus is None else to_cpu_list(limits.cpus),
        "cpu_quota": limits.cpu_quota,
        "cgroup_version": limits.version,
        "cgroup_levels_hidden": limits.hidden_levels,
        "throttled_periods": limits.throttled_periods,
        "periods": limits.periods,
        "online_cpus": topo.online,
        "packages": topo.packages,
        "physical_cores": topo.physical_cores,
        "smt": topo.smt,
        "hybrid": list(topo.hybrid),
        "numa_nodes": topo.numa_nodes,
        "caches": [asdict(c) for c in topo.caches],
        "last_level_cache_bytes": topo.last_level_bytes,
        "memory_bytes": sysinfo.memory_bytes,
        "memory_limit_bytes": facts.memory_limit_bytes,
        "huge_pages": sysinfo.huge_pages,
        "governors": list(sysinfo.governors),
        "turbo": sysinfo.turbo,
        "steal_share": sysinfo.steal_share,
        "load_1min": sysinfo.load_1min,
        "kernel": sysinfo.kernel,
        "permissions": asdict(facts.permissions),
        "gpus": [asdict(g) for g in facts.gpus],
        "python": facts.python,
        "libraries": asdict(facts.libraries) if facts.libraries else None,
        "torch": asdict(facts.torch) if facts.torch else None,
        "unknown": facts.unknown,
    }


def _affinity(tree: Tree, pid: str) -> frozenset[int] | None:
    for line in (tree.text(f"/proc/{pid}/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            return cpu_list(value.strip()) or None
    return None


def _usable(*sets: frozenset[int] | None) -> frozenset[int] | None:
    """CPUs in all the sets that are known; an impossible (empty) meeting is not believed."""
    known = [s for s in sets if s]
    if not known:
        return None
    return frozenset.intersection(*known) or known[0]


def _effective(usable: frozenset[int] | None, quota: float | None) -> int | None:
    # Rounded down: a third thread on 2.5 CPUs only brings the throttling sooner.
    paid = None if quota is None else max(1, math.floor(quota))
    counts = [c for c in (len(usable) if usable else None, paid) if c is not None]
    return min(counts, default=None)


def _isa(tree: Tree, cpu: processor.Processor) -> isa.Isa:
    live = isa.live_cpuid() if tree.live else None
    decoded = isa.from_cpuid(*live) if live else None
    return decoded or isa.from_flags(cpu.flags)


def _architecture(cpu: processor.Processor) -> str:
    if "asimd" in cpu.flags:
        return "aarch64"
    return "x86_64" if "lm" in cpu.flags else "unknown"


def _environment(tree: Tree, pid: str, given: dict[str, str] | None) -> dict[str, str]:
    if given is not None:
        return given
    if pid == "self" and tree.live:
        import os

        return dict(os.environ)
    text = tree.text(f"/proc/{pid}/environ") or ""
    pairs = [item.partition("=") for item in text.split("\0")]
    return {key: value for key, separator, value in pairs if separator}


def _unknown(facts: Facts) -> dict[str, str]:
    missing = {
        "cpu_model": (facts.processor.model, "/proc/cpuinfo has no model name"),
        "isa": (facts.isa.usable or None, "neither CPUID nor the flags of /proc/cpuinfo can be read"),
        "effective_cpus": (facts.effective_cpus, "no affinity, cpuset or list of CPUs can be read"),
        "physical_cores": (facts.topology.physical_cores, "no topology in /sys or /proc/cpuinfo"),
        "numa_nodes": (facts.topology.numa_nodes, "no /sys/devices/system/node"),
        "caches": (facts.topology.caches or None, "no cache folder in /sys/devices/system/cpu"),
        "governors": (facts.system.governors or None, "no cpufreq in /sys: the host decides (usual in a VM)"),
        "huge_pages": (facts.system.huge_pages, "no /sys/kernel/mm/transparent_hugepage"),
        "memory_bytes": (facts.system.memory_bytes, "no /proc/meminfo"),
        "steal_share": (facts.system.steal_share, "no /proc/stat"),
        "cgroup_version": (facts.cgroup.version, "no control group sets or shows a limit"),
    }
    return {name: why for name, (value, why) in missing.items() if value is None}
