"""Two commands that take turns: both alive, one runs for a twentieth of a second while the other stands still.

In: two commands with their environments. Out: how each ended and the CPU time that the system accounts to it and its
children. A shared machine is 10 % faster or slower a few seconds later, which hides an overhead of 2 %; in turns both
meet the same machine: of equal commands (`import torch`, 1.9 s) the ratio scatters by 1.5 % instead of 10 %.

Each command leads a session of its own, so that its children stop and go on with it. What it measures on the wall clock
is spoiled by that; CPU time is not. A command that only launches the program to be measured gets its start for
nothing: turns begin when both programs do, so that they stay abreast. Half a second apart, one imports while the other
computes, and the scatter of the ratio is twice as large.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

TURN_S = 0.05
LOOK_S = 0.005
LAUNCH_LOOK_S = 0.0005


@dataclass(frozen=True)
class Ended:
    exit_code: int
    cpu_s: float  # user and system, of the process and the children it waited for
    errors: str  # what it wrote to standard error


def take_turns(
    commands: tuple[list[str], list[str]],
    environments: tuple[dict[str, str], dict[str, str]],
    folder: Path,
    first: int,
    launched: tuple[str, str] = ("", ""),
) -> tuple[Ended, Ended]:
    """Run both to their end; `first` (0 or 1) begins. The last one alive runs on without pauses.

    `launched` is an argument by which to know the program that a command launches; empty where it is the program.
    """
    with TemporaryFile() as one, TemporaryFile() as other:
        sides = [
            _Side(command, environment, folder, errors)
            for command, environment, errors in zip(commands, environments, (one, other), strict=True)
        ]
        try:
            for side, argument in zip(sides, launched, strict=True):
                if argument:
                    side.run_until_it_launches(argument)
            turn = first
            while any(side.ended is None for side in sides):
                side, rival = sides[turn], sides[1 - turn]
                if side.ended is None:
                    side.run(pause=rival.ended is None)
                turn = 1 - turn
        finally:
            for side in sides:
                side.kill()
        a, b = (side.ended for side in sides)
        assert a is not None
        assert b is not None
        return a, b


class _Side:
    """One of the two. It stands still except in `run`."""

    def __init__(
        self, command: list[str], environment: dict[str, str], folder: Path, errors: IO[bytes]
    ) -> None:
        self._errors = errors
        self.ended: Ended | None = None
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        self._send(signal.SIGSTOP)

    def run(self, pause: bool) -> None:
        """One turn, or to the end without `pause`."""
        self._send(signal.SIGCONT)
        until = time.monotonic() + TURN_S
        while not self._has_ended():
            if pause and time.monotonic() >= until:
                self._send(signal.SIGSTOP)
                return
            time.sleep(LOOK_S)

    def run_until_it_launches(self, argument: str) -> None:
        """Run until a child has replaced itself by a program with this argument."""
        self._send(signal.SIGCONT)
        own = Path(f"/proc/{self._process.pid}")
        children = own / "task" / own.name / "children"
        while not self._has_ended():
            for child in children.read_text().split():
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                if argument.encode() in command.split(b"\0") and command != (own / "cmdline").read_bytes():
                    self._send(signal.SIGSTOP)
                    return
            time.sleep(LAUNCH_LOOK_S)

    def _has_ended(self) -> bool:
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid:
            code = self._process.returncode = os.waitstatus_to_exitcode(status)
            self._errors.seek(0)
            text = self._errors.read().decode("utf-8", "replace")
            self.ended = Ended(code, usage.ru_utime + usage.ru_stime, text)
        return bool(pid)

    def kill(self) -> None:
        """Leave nothing behind when the other one failed."""
        if self.ended is None:
            self._send(signal.SIGKILL)
            self._process.wait()

    def _send(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)
