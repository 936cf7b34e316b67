"""Where the program is: its innermost frame, and how long a thread of it has waited for a CPU."""

from __future__ import annotations

import sys
import time
from typing import Any

from sonde.record.inside import SONDE


def run_delay_ns(tid: int) -> int:
    """How long the thread has stood in the run queue; -1 where the kernel does not tell."""
    try:
        with open(f"/proc/self/task/{tid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return -1


def taken_share(tid: int, before_ns: int, start_ns: int) -> float:
    """Of the time since `start_ns`, when the delay was `before_ns`: the thread was ready but off the CPU."""
    delay_ns = run_delay_ns(tid)
    if before_ns < 0 or delay_ns < before_ns:
        return 0.0
    return min((delay_ns - before_ns) / max(time.monotonic_ns() - start_ns, 1), 1.0)


def program_frame() -> Any:
    """The innermost frame that is not of the observers."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(SONDE):
        frame = frame.f_back  # type: ignore[assignment]
    return frame
