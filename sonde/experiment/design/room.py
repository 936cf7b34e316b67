"""Whether this machine has the memory for two launches at once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

LARGEST_SHARE = 0.35  # of the memory that is free, for one program


def holds_two(process: subprocess.Popen[bytes]) -> bool:
    """Is there room for another program like this one, which has done its first steps?"""
    free, own = _free_bytes(), _peak_bytes(process.pid)
    return free is None or own <= LARGEST_SHARE * (free + own)


def _peak_bytes(pid: int) -> int:
    return next((kib * 1024 for key, kib in _table(Path(f"/proc/{pid}/status")) if key == "VmHWM"), 0)


def _free_bytes() -> int | None:
    free = next((kib * 1024 for key, kib in _table(Path("/proc/meminfo")) if key == "MemAvailable"), None)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        left = limit - int(Path("/sys/fs/cgroup/memory.current").read_text())
        return left if free is None else min(free, left)
    except (OSError, ValueError):  # no container, or one without a limit
        return free


def _table(path: Path) -> Iterator[tuple[str, int]]:
    """`Key:  123 kB` line by line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            yield words[0].rstrip(":"), int(words[1])
