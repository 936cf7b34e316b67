"""CPU time and page faults of the process at the ends of the last steps before the first window.

They go with the window's mark, so that a recording can say whether steps after its windows are like those before
(`sonde/analyze/recording/undisturbed.py`).
"""

from __future__ import annotations

import resource

KEPT = 21  # ends of steps: twenty steps between them


class Readings:
    """Kept until the first window opens."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, int, int]] = []

    def note(self, end_ns: int) -> None:
        """A step ended."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self._kept.append((end_ns, round((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_minflt))
        del self._kept[:-KEPT]

    def clear(self) -> None:
        self._kept.clear()

    def as_member(self) -> str:
        """`,"before":[[end_ns, cpu_ns, faults], …]` for a mark, "" when there are no two."""
        if len(self._kept) < 2:
            return ""
        return ',"before":[' + ",".join(f"[{e},{c},{f}]" for e, c, f in self._kept) + "]"
