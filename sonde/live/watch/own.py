"""The clock of a watch, and what Sonde itself uses while it watches.

Enters: the processes that are recorded. Leaves: CPU time of this process and its children, and of the agent's threads
in the program. The samples' own cost is paid by the program's threads and is not in it (`sonde show REC quality`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

AGENT_THREADS = ("sonde", "sonde-python", "sonde-attach")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class SystemClock:
    """The time that there is."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def epoch_ns(self) -> int:
        return time.time_ns()


def own_cpu_s(pids: list[int]) -> dict[str, float]:
    """CPU time so far."""
    used = os.times()
    mine = used.user + used.system + used.children_user + used.children_system
    return {"watch": mine, "agent": sum(_agent_s(pid) for pid in pids)}


def _agent_s(pid: int) -> float:
    total = 0.0
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0.0
    for task in tasks:
        try:
            text = (task / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        if name in AGENT_THREADS:
            total += (int(rest[11]) + int(rest[12])) * _TICK_S
    return total
