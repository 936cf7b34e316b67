"""Settings of the system that change how fast a program runs: memory, huge pages, clock, steal."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sonde.machine.tree import Tree, to_int


@dataclass(frozen=True)
class System:
    """None where the system does not tell."""

    memory_bytes: int | None
    memory_available_bytes: int | None
    huge_pages: str | None  # transparent huge pages: always, madvise or never
    governors: tuple[str, ...]  # distinct frequency governors of the usable CPUs
    turbo: bool | None
    steal_share: float | None  # share of all CPU time since boot that the host took away
    load_1min: float | None
    kernel: str | None


def read_system(tree: Tree, cpus: frozenset[int] | None) -> System:
    """Read them all."""
    info = tree.text("/proc/meminfo") or ""
    return System(
        memory_bytes=_kib(info, "MemTotal"),
        memory_available_bytes=_kib(info, "MemAvailable"),
        huge_pages=_chosen(tree.text("/sys/kernel/mm/transparent_hugepage/enabled")),
        governors=_governors(tree, cpus),
        turbo=_turbo(tree),
        steal_share=steal_share(tree.text("/proc/stat")),
        load_1min=_load(tree.text("/proc/loadavg")),
        kernel=tree.text("/proc/sys/kernel/osrelease"),
    )


def steal_share(stat: str | None) -> float | None:
    """Share of stolen time: the eighth number in the first line of /proc/stat."""
    found = re.match(r"cpu\s+((?:\d{1,19} ?)+)", stat or "", re.ASCII)
    if not found:
        return None
    # user nice system idle iowait irq softirq steal; guest time is part of user time already.
    ticks = [int(x) for x in found[1].split()][:8]
    total = sum(ticks)
    return ticks[7] / total if len(ticks) == 8 and total else None


def _kib(info: str, key: str) -> int | None:
    found = re.search(rf"^{key}:\s+(\d{{1,15}}) kB", info, re.MULTILINE | re.ASCII)
    return int(found[1]) * 1024 if found else None


def _chosen(text: str | None) -> str | None:
    """`always [madvise] never` → madvise."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _governors(tree: Tree, cpus: frozenset[int] | None) -> tuple[str, ...]:
    names = tree.names("/sys/devices/system/cpu", r"cpu\d+")
    found = set()
    for name in names:
        if cpus is None or int(name[3:]) in cpus:
            found.add(tree.text(f"/sys/devices/system/cpu/{name}/cpufreq/scaling_governor"))
    return tuple(sorted(g for g in found if g))


def _turbo(tree: Tree) -> bool | None:
    off = to_int(tree.text("/sys/devices/system/cpu/intel_pstate/no_turbo"))
    if off is not None:
        return off == 0
    boost = to_int(tree.text("/sys/devices/system/cpu/cpufreq/boost"))
    return None if boost is None else boost == 1


def _load(text: str | None) -> float | None:
    found = re.match(r"(\d+\.\d+)", text or "", re.ASCII)
    return float(found[1]) if found else None
