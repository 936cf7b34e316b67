"""Two programs that take turns: this one stops at the end of a step while the other runs.

Used by `sonde tune` and `sonde prove` (`sonde.experiment.measure.turns`): on a machine that drifts, two programs that
alternate several times a second meet the same conditions. The launcher shares one byte with us: while it is 1, the
program stops itself (SIGSTOP, all its threads) at the next safe point after enough steps, and says
so by a mark `pause`. Only the launched process itself takes turns, and never one that uses a GPU, where work goes
on while the process stands.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal

from sonde.record.inside.session import Session, now_ns

LEAST_STEPS = 4  # a turn: the first step warms the caches again and is not counted
PR_SET_PDEATHSIG = 1


class Turns:
    """`step_ended()` says whether a safe point is wanted, `take()` is that safe point."""

    def __init__(self, session: Session, path: str) -> None:
        self._session = session
        self._steps = 0
        with open(path, "r+b") as file:
            self._wanted = mmap.mmap(file.fileno(), 1)
        # Should the launcher die while we stand, nobody would ever wake us.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    @staticmethod
    def of(session: Session) -> Turns | None:
        """The turns that the launcher asks for, if this is the process that it launched."""
        path, launcher = session.options.get("turns", ""), session.options.get("launcher", -1)
        return Turns(session, path) if path and os.getppid() == launcher else None

    def step_ended(self) -> bool:
        self._steps += 1
        return self._steps >= LEAST_STEPS and self._wanted[0] != 0

    def take(self) -> None:
        """Stand until the launcher wakes us."""
        self._steps = 0
        start_ns = now_ns()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._session.mark("pause", "turn", start_ns, now_ns())
