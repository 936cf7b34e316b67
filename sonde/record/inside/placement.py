"""Where the system lets the program run: cores behind its CPUs, memory by node, moves between CPUs, stolen time.

Enters: files of /proc and /sys, read at the start and at the end of the program. Leaves: plain figures for the marks
of kind "settings". A file that a system does not have raises OSError; the caller leaves that figure out.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any, NamedTuple

SYSTEM = "/sys/devices/system"
CONTROL_GROUPS = "/sys/fs/cgroup"
MOST_THREADS = 256
# Patterns are compiled where they are used: most programs never come there.
_PAGES = r" N(\d+)=(\d+)"
_SIZE = r" kernelpagesize_kB=(\d+)"


def physical_cpus() -> int:
    """Cores behind the CPUs that the process may use: siblings of one core count once."""
    return len({_text(f"{SYSTEM}/cpu/cpu{c}/topology/thread_siblings_list") for c in os.sched_getaffinity(0)})


def numa_bytes() -> dict[str, int]:
    """Memory of the process by node, where its CPUs lie on more than one; empty on a machine with one node."""
    nodes = [n for n in os.listdir(f"{SYSTEM}/node") if re.fullmatch(r"node\d+", n)]
    if len(nodes) < 2 or sum(_holds_cpus(n) for n in nodes) < 2:
        return {}
    held: dict[str, int] = {}
    with open("/proc/self/numa_maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            size = re.search(_SIZE, line)
            for node, pages in re.findall(_PAGES, line):
                kilobytes = int(pages) * (int(size.group(1)) if size else 4)
                held[node] = held.get(node, 0) + 1024 * kilobytes
    return held


def _holds_cpus(node: str) -> bool:
    """Whether the process may run on a CPU of this node."""
    return any(os.path.exists(f"{SYSTEM}/node/{node}/cpu{c}") for c in os.sched_getaffinity(0))


class Ticks(NamedTuple):
    """The system's own account at one moment."""

    time_s: float
    all_ticks: int
    stolen_ticks: int
    throttled_s: float = (
        -1.0
    )  # that the control group stood still because its quota was used up; -1: not told

    @classmethod
    def now(cls) -> Ticks:
        words = _text("/proc/stat").split("\n", 1)[0].split()[1:9]
        return cls(time.monotonic(), sum(map(int, words)), int(words[7]), _throttled_s())


def scheduling(before: Ticks) -> dict[str, Any]:
    """Since `before`: share of the CPUs' time that the host of the machine took, moves of threads between CPUs."""
    after = Ticks.now()
    passed = max(after.all_ticks - before.all_ticks, 1)
    found: dict[str, Any] = {
        "seconds": round(after.time_s - before.time_s, 3),
        "stolen_share": round((after.stolen_ticks - before.stolen_ticks) / passed, 5),
    }
    if before.throttled_s >= 0 and after.throttled_s >= 0:
        found["throttled_s"] = round(after.throttled_s - before.throttled_s, 3)
    moves = [_moves(task) for task in sorted(os.listdir("/proc/self/task"))[:MOST_THREADS]]
    known = [m for m in moves if m >= 0]
    if known:
        found["most_moves"] = max(known)  # of the thread that moved most often, over its life
    return found


def _throttled_s() -> float:
    """Of the control group that the process is in: v2 counts microseconds, v1 nanoseconds."""
    try:
        for line in _text("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            for root in (f"{CONTROL_GROUPS}/{controllers}", CONTROL_GROUPS, f"{CONTROL_GROUPS}/unified"):
                if os.path.exists(f"{root}{path}/cpu.stat"):
                    counts = dict(pair.split() for pair in _text(f"{root}{path}/cpu.stat").splitlines())
                    if "throttled_usec" in counts:
                        return int(counts["throttled_usec"]) / 1e6
                    if "throttled_time" in counts:
                        return int(counts["throttled_time"]) / 1e9
    except (OSError, ValueError):
        pass
    return -1.0


def _moves(task: str) -> int:
    """Moves of a thread from one CPU to another; -1 where the kernel does not tell (CONFIG_SCHED_DEBUG)."""
    try:
        found = re.search(r"nr_migrations\s*:\s*(\d+)", _text(f"/proc/self/task/{task}/sched"))
    except OSError:
        return -1
    return int(found.group(1)) if found else -1


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()
