"""Cores, threads, nodes and caches of the CPUs that the process may use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sonde.machine.tree import Tree, cpu_list, to_int

_CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Cache:
    level: int
    kind: str  # Data, Instruction or Unified
    size_bytes: int
    shared_by: int  # how many CPUs share one


@dataclass(frozen=True)
class Topology:
    """Restricted to `cpus`. None where neither /sys nor /proc/cpuinfo tells."""

    online: int | None
    packages: int | None
    physical_cores: int | None
    smt: bool | None  # two of the usable CPUs are siblings of one core
    siblings: tuple[tuple[int, ...], ...]  # usable CPUs that share a core, where more than one
    hybrid: tuple[str, ...]  # kinds of core with their CPU count, empty when all are alike
    numa_nodes: int | None
    caches: tuple[Cache, ...]

    @property
    def last_level_bytes(self) -> int | None:
        return max((c.size_bytes for c in self.caches if c.kind != "Instruction"), default=None)


def read_topology(
    tree: Tree, cpus: frozenset[int] | None, cores_by_cpu: dict[int, tuple[int, int]]
) -> Topology:
    """Describe the CPUs in `cpus`, or all online ones when it is None."""
    online = online_cpus(tree, cores_by_cpu)
    chosen = cpus if cpus is not None else online
    cores: dict[tuple[int, int, int], list[int]] = {}
    for cpu in sorted(chosen or ()):
        place = _place(tree, cpu, cores_by_cpu)
        if place is not None:
            cores.setdefault(place, []).append(cpu)
    complete = bool(chosen) and sum(map(len, cores.values())) == len(chosen or ())
    siblings = tuple(tuple(group) for group in cores.values() if len(group) > 1)
    first = min(chosen, default=0) if chosen else 0
    return Topology(
        online=len(online) if online else None,
        packages=len({place[0] for place in cores}) if complete else None,
        physical_cores=len(cores) if complete else None,
        smt=bool(siblings) if complete else None,
        siblings=siblings,
        hybrid=_hybrid(tree, chosen),
        numa_nodes=_nodes(tree, chosen),
        caches=_caches(tree, first),
    )


def online_cpus(tree: Tree, cores_by_cpu: dict[int, tuple[int, int]]) -> frozenset[int] | None:
    """CPUs that the system runs: /sys, else the CPU lines of /proc/stat, else /proc/cpuinfo."""
    found = cpu_list(tree.text(f"{_CPU}/online"))
    if found:
        return found
    stat = re.findall(r"^cpu(\d{1,6}) ", tree.text("/proc/stat") or "", re.MULTILINE | re.ASCII)
    info = re.findall(
        r"^processor\s*:\s*(\d{1,6})$", tree.text("/proc/cpuinfo") or "", re.MULTILINE | re.ASCII
    )
    return frozenset(map(int, stat)) or frozenset(map(int, info)) or frozenset(cores_by_cpu) or None


def _place(tree: Tree, cpu: int, cores_by_cpu: dict[int, tuple[int, int]]) -> tuple[int, int, int] | None:
    """Package, die or cluster, core: unique for a physical core.

    Core numbers repeat between packages, and on some machines between dies.
    """
    folder = f"{_CPU}/cpu{cpu}/topology"
    core, package = tree.number(f"{folder}/core_id"), tree.number(f"{folder}/physical_package_id")
    if core is not None and package is not None:
        die = tree.number(f"{folder}/die_id")
        return package, die if die is not None and die >= 0 else 0, core
    found = cores_by_cpu.get(cpu)
    return (found[0], 0, found[1]) if found else None


def _hybrid(tree: Tree, cpus: frozenset[int] | None) -> tuple[str, ...]:
    """Intel names the kinds; elsewhere a differing capacity tells."""
    if not cpus:
        return ()
    kinds = []
    for folder, name in (
        ("cpu_core", "performance"),
        ("cpu_atom", "efficiency"),
        ("cpu_lowpower", "low power"),
    ):
        members = cpu_list(tree.text(f"/sys/devices/{folder}/cpus"))
        if members and members & cpus:
            kinds.append(f"{len(members & cpus)} {name}")
    if len(kinds) > 1:
        return tuple(kinds)
    capacities: dict[int, int] = {}
    for cpu in cpus:
        capacity = tree.number(f"{_CPU}/cpu{cpu}/cpu_capacity")
        if capacity is not None:
            capacities[capacity] = capacities.get(capacity, 0) + 1
    if len(capacities) < 2:
        return ()
    return tuple(f"{count} of capacity {value}" for value, count in sorted(capacities.items(), reverse=True))


def _nodes(tree: Tree, cpus: frozenset[int] | None) -> int | None:
    """Memory nodes that the CPUs touch."""
    folder = "/sys/devices/system/node"
    names = tree.names(folder, r"node\d+")
    if not names or not cpus:
        return None
    lists = [cpu_list(tree.text(f"{folder}/{name}/cpulist")) for name in names]
    return sum(1 for members in lists if members and members & cpus) or None


def _caches(tree: Tree, cpu: int) -> tuple[Cache, ...]:
    folder = f"{_CPU}/cpu{cpu}/cache"
    found = []
    for name in tree.names(folder, r"index\d+"):
        level = tree.number(f"{folder}/{name}/level")
        size = size_bytes(tree.text(f"{folder}/{name}/size"))
        if level is None or size is None:
            continue
        shared = cpu_list(tree.text(f"{folder}/{name}/shared_cpu_list"))
        found.append(Cache(level, tree.text(f"{folder}/{name}/type") or "Unified", size, len(shared or (0,))))
    return tuple(found)


def size_bytes(text: str | None) -> int | None:
    """`32K`, `8 MB`, `512` as bytes."""
    found = re.fullmatch(r"(\d{1,15})\s*([KMG]?)i?B?", text or "", re.ASCII | re.IGNORECASE)
    if not found:
        return None
    scale = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[found[2].lower()]
    return (to_int(found[1]) or 0) * scale
