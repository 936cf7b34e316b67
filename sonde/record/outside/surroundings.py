"""What the recording keeps of its surroundings: the machine, and how its clocks stand to each other."""

from __future__ import annotations

import os
import platform
import time


def machine_facts() -> dict[str, object]:
    """Enough to tell two machines apart; `sonde check` knows far more."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_1m": os.getloadavg()[0],
    }


def epoch_offset() -> tuple[int, int]:
    """(epoch − CLOCK_MONOTONIC, uncertainty) in ns: the tightest of a few readings."""
    best: tuple[int, int] | None = None
    for _ in range(8):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        reading = (wall - (before + after) // 2, (after - before) // 2 + 1)
        if best is None or reading[1] < best[1]:
            best = reading
    assert best is not None
    return best


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith(("model name", "Model")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
