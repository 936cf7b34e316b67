"""Measure a pair of launches that take turns: both alive, one runs for a twentieth of a second, then the other.

On a shared machine the same program is 10 % faster or slower a few seconds later, so launches one after the
other must be many. Blocks of steps that alternate meet the same conditions: here, on a two-core guest, equal
launches differ by 14 % one after the other and by 3 % in turns.

In: two arms. Out: one measurement each, whose ratio is the median over neighbouring blocks; or None where the
programs cannot take turns (no steps or too few of them, several processes, a GPU, too little memory for two, one that
fails beside the other), and then launches one after the other are the way.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TURN_S = 0.05
SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.0002, 0.005


@dataclass(frozen=True)
class Side:
    """One program of the pair: its process (leader of its own group) and the byte that asks it to stop."""

    process: subprocess.Popen[bytes]
    byte: mmap.mmap

    def ask(self, stop: bool) -> None:
        self.byte[0] = int(stop)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stands(self, late: Callable[[], None]) -> bool:
        """Wait until it has stopped (True) or ended (False). `late` raises when that takes too long."""
        pause_s = SHORTEST_LOOK_S
        while True:
            # Looked at only: to collect an ended child is Popen's.
            seen = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if seen is not None and seen.si_code == os.CLD_STOPPED:
                os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG)
                self.send(signal.SIGSTOP)  # its workers, which prefetch for it, stand too
                return True
            if seen is not None:
                return False
            late()
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_LOOK_S)


def shared_byte(path: Path) -> mmap.mmap:
    """A file of one byte; while it is 1, the program stops as soon as it may."""
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 1)


def alternate(first: Side, second: Side, late: Callable[[], None]) -> None:
    """Both stand. Let them run in turns until one has ended, then the other to its end."""
    sides = [first, second]
    turn = 0
    while True:
        side = sides[turn]
        side.ask(False)
        side.send(signal.SIGCONT)
        time.sleep(TURN_S)
        side.ask(True)
        if not side.stands(late):
            break
        turn = 1 - turn
    release(sides[1 - turn])


def release(side: Side) -> None:
    """It may run to its end without us."""
    side.ask(False)
    side.send(signal.SIGCONT)
