"""What the control groups allow: CPUs, CPU time and memory, at every level up to the mount.

Enters: /proc/PID/cgroup, /proc/PID/mountinfo and the cgroup file systems, of
version 1, version 2 or both at once. Leaves: the tightest limit of each kind.
In a container the levels above its own root cannot be seen; a limit set there
still holds, and `hidden_levels` says that there may be one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from sonde.machine.tree import Tree, cpu_list, to_int

_UNLIMITED_BYTES = 1 << 60  # v1 prints "no limit" as the largest page-aligned number
_MAX_LEVELS = 64


@dataclass(frozen=True)
class CgroupLimits:
    """None means no limit of that kind was found."""

    version: str | None  # "v1", "v2", "v1+v2"; None when there are no control groups
    cpu_quota: float | None  # CPUs' worth of time per period, the smallest of all levels
    cpus: frozenset[int] | None  # cpuset
    memory_bytes: int | None
    periods: int | None  # scheduling periods since start, and in how many the group was stopped
    throttled_periods: int | None
    hidden_levels: bool


@dataclass(frozen=True)
class _Mount:
    point: str
    root: str
    version: int
    controllers: frozenset[str]


def read_limits(tree: Tree, pid: str = "self") -> CgroupLimits:
    """The limits that hold for a process."""
    groups = _groups(tree.text(f"/proc/{pid}/cgroup"))
    mounts = _mounts(tree, pid)
    used: set[str] = set()
    quotas: list[float] = []
    sets: list[frozenset[int]] = []
    memories: list[int] = []
    stats: list[tuple[int, int]] = []
    hidden = False
    for mount in mounts:
        path = _path_in(mount, groups)
        if path is None:
            continue
        hidden |= mount.root not in ("/", "") or (mount.version == 2 and path == "/" and _inside(tree))
        for folder in _levels(mount.point, path):
            found = _read_level(tree, folder, mount.version)
            quotas += found.quotas
            sets += found.sets
            memories += found.memories
            stats += found.stats
            if found.any:
                used.add(f"v{mount.version}")
    cpus = frozenset.intersection(*sets) if sets else None
    worst = max(stats, key=lambda s: s[1], default=None)
    return CgroupLimits(
        version="+".join(sorted(used)) or None,
        cpu_quota=min(quotas, default=None),
        cpus=cpus or None,
        memory_bytes=min(memories, default=None),
        periods=worst[0] if worst else None,
        throttled_periods=worst[1] if worst else None,
        hidden_levels=hidden,
    )


def _groups(text: str | None) -> dict[str, str]:
    """Controller (empty for v2) to path."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        number, _, rest = line.partition(":")
        names, separator, path = rest.partition(":")
        if not separator or not number.isdigit():
            continue
        if number == "0" and not names:
            found[""] = path
        for name in names.split(","):
            if name:
                found[name] = path
    return found


def _mounts(tree: Tree, pid: str) -> list[_Mount]:
    """Where the cgroup file systems are, as the process sees them."""
    found = []
    for line in (tree.text(f"/proc/{pid}/mountinfo") or "").splitlines():
        before, separator, after = line.partition(" - ")
        fields, types = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5 or len(types) < 3 or types[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if types[0] == "cgroup2" else 1
        controllers = frozenset(types[2].split(",")) & {"cpu", "cpuset", "memory"}
        if version == 2 or controllers:
            found.append(_Mount(fields[4], fields[3], version, controllers))
    if not found:  # no mountinfo: the places where distributions put them
        if tree.text("/sys/fs/cgroup/cgroup.controllers") is not None:
            found.append(_Mount("/sys/fs/cgroup", "/", 2, frozenset()))
        for name in ("cpu", "cpu,cpuacct", "cpuset", "memory"):
            if tree.path(f"/sys/fs/cgroup/{name}").is_dir():
                found.append(_Mount(f"/sys/fs/cgroup/{name}", "/", 1, frozenset(name.split(","))))
    return found


def _path_in(mount: _Mount, groups: dict[str, str]) -> str | None:
    """The process's path below a mount; `/` when it lies outside what is mounted."""
    if mount.version == 2:
        path = groups.get("")
    else:
        path = next((groups[c] for c in sorted(mount.controllers) if c in groups), None)
    if path is None:
        return None if groups else "/"
    if mount.root not in ("/", ""):
        # A container that sees host paths: its own group is the root of the mount.
        if path == mount.root:
            return "/"
        prefix = mount.root.rstrip("/") + "/"
        return "/" + path[len(prefix) :] if path.startswith(prefix) else "/"
    return "/" if ".." in PurePosixPath(path).parts else path


def _levels(point: str, path: str) -> Iterator[str]:
    """The folder of the group and of each of its ancestors, up to the mount point."""
    parts = [p for p in PurePosixPath(path).parts if p not in ("/", "")][:_MAX_LEVELS]
    for count in range(len(parts), -1, -1):
        yield "/".join([point.rstrip("/"), *parts[:count]])


@dataclass(frozen=True)
class _Level:
    quotas: list[float]
    sets: list[frozenset[int]]
    memories: list[int]
    stats: list[tuple[int, int]]

    @property
    def any(self) -> bool:
        return bool(self.quotas or self.sets or self.memories or self.stats)


def _read_level(tree: Tree, folder: str, version: int) -> _Level:
    level = _Level([], [], [], [])
    if version == 2:
        quota, _, period = (tree.text(f"{folder}/cpu.max") or "").partition(" ")
        memory = to_int(tree.text(f"{folder}/memory.max"))
        cpus = cpu_list(tree.text(f"{folder}/cpuset.cpus.effective"))
    else:
        quota = tree.text(f"{folder}/cpu.cfs_quota_us") or ""
        period = tree.text(f"{folder}/cpu.cfs_period_us") or ""
        memory = to_int(tree.text(f"{folder}/memory.limit_in_bytes"))
        cpus = cpu_list(tree.text(f"{folder}/cpuset.effective_cpus") or tree.text(f"{folder}/cpuset.cpus"))
    quota_us, period_us = to_int(quota), to_int(period)
    if quota_us is not None and period_us is not None and quota_us > 0 and period_us > 0:
        level.quotas.append(quota_us / period_us)
    if cpus:
        level.sets.append(cpus)
    if memory is not None and 0 < memory < _UNLIMITED_BYTES:
        level.memories.append(memory)
    counts = dict(
        line.split(" ", 1) for line in (tree.text(f"{folder}/cpu.stat") or "").splitlines() if " " in line
    )
    periods, throttled = to_int(counts.get("nr_periods")), to_int(counts.get("nr_throttled"))
    if periods and throttled is not None:
        level.stats.append((periods, throttled))
    return level


def _inside(tree: Tree) -> bool:
    """Whether this looks like the inside of a container."""
    return tree.path("/.dockerenv").exists() or tree.path("/run/.containerenv").exists()
