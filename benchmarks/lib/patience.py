"""How long a program may take before it counts as hung: in its own time, not in the machine's.

On two cores that thirty others want, a program with six seconds of work takes five minutes and is as healthy as ever.
A limit by the clock on the wall calls that a hang, and calls it so the more often the more work there is to do: so it
always finds Sonde guilty. The time in which a thread of the program stood in line for a CPU is therefore not counted.
A program that sleeps for ever is found by what is left, one that spins for ever also by its CPU time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOOK_EVERY_S = 5.0


@dataclass(frozen=True)
class Turn:
    """What the kernel counts for a thread, in nanoseconds: on a CPU, and runnable without one."""

    ran_ns: int
    waited_ns: int


def turns_of_session(session: int, proc: Path = Path("/proc")) -> dict[int, Turn]:
    """By number, of all threads that live in the session now."""
    found = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # The fourth value behind the name, which may hold anything; proc(5) calls it the sixth.
            if int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[3]) != session:
                continue
            for task in (folder / "task").iterdir():
                ran, waited, _ = (task / "schedstat").read_text().split()
                found[int(task.name)] = Turn(int(ran), int(waited))
        except (OSError, ValueError):  # it ended meanwhile
            continue
    return found


@dataclass
class Patience:
    """Adds up looks at a program. Threads that began and ended between two looks are not seen."""

    limit_s: float
    own_s: float = 0.0  # in which no thread stood in line
    ran_s: float = 0.0  # CPU time
    waited_s: float = 0.0  # of all threads
    _last: dict[int, Turn] = field(default_factory=dict)

    def look(self, elapsed_s: float, turns: Mapping[int, Turn]) -> None:
        """`elapsed_s`: since the look before."""
        waited_s = ran_s = 0.0
        for number, now in turns.items():
            before = self._last.get(number, Turn(0, 0))
            waited_s += max(now.waited_ns - before.waited_ns, 0) / 1e9
            ran_s += max(now.ran_ns - before.ran_ns, 0) / 1e9
        self._last = dict(turns)
        self.own_s += max(elapsed_s - waited_s, 0.0)
        self.ran_s += ran_s
        self.waited_s += waited_s

    def is_over(self) -> bool:
        return self.own_s > self.limit_s or self.ran_s > self.limit_s

    def reason(self) -> str:
        """Why it counts as hung."""
        return f"{self.own_s:.0f} s without waiting for a CPU, {self.ran_s:.0f} s of CPU time"


def until_its_end(process: subprocess.Popen[bytes], limit_s: float) -> tuple[bytes, bytes, str]:
    """All that it writes to pipes, and why it was killed, if it was. `process` leads a session of its own."""
    patience = Patience(limit_s)
    looked_s = time.monotonic()
    while True:
        try:
            output, errors = process.communicate(timeout=min(LOOK_EVERY_S, limit_s))
            return output, errors, ""
        except subprocess.TimeoutExpired:
            now_s = time.monotonic()
            patience.look(now_s - looked_s, turns_of_session(process.pid))
            looked_s = now_s
        if patience.is_over():
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return output, errors, patience.reason()
