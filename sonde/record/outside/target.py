"""What is recorded: a command that Sonde starts. `launch` asks nothing else of it, so that there can be other targets.

Enters: the environment that lets the agent in, signals that Sonde gets. Leaves: the process id, and how it ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sonde.errors import UsageError
from sonde.record.outside.adopted import used_ns

# The terminal sends these to the whole foreground group: a program that Sonde started has them already.
FROM_TERMINAL = frozenset({signal.SIGINT, signal.SIGQUIT})
# Sent to us alone (kill, a job scheduler): the program must hear of them.
FORWARDED = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})


@dataclass(frozen=True)
class Ended:
    """How a target ended, and what the system counted for it and for the children that it waited for."""

    exit_code: int  # the program's own; -N when signal N killed it
    user_ns: int
    system_ns: int
    max_rss_bytes: int
    adopted_ns: int = 0  # CPU time of its orphans that ended before it did


class Target(Protocol):
    """A program to record. Calls come in this order; `interrupt` at any time after `start`, from a signal handler."""

    def start(self, environment: Mapping[str, str]) -> int:
        """Begin; the process id. `environment` is all of it, the agent's variables included."""

    def wait(self, adopting: bool) -> Ended:
        """Until the end. `adopting`: orphans of the program are our children, too."""

    def interrupt(self, number: int) -> None:
        """Sonde got this signal while the target runs."""


class CannotStart(UsageError):
    """The system refuses to start the program, which may be for the variables that Sonde adds."""


class CommandTarget:
    """A command, run as a shell would run it: its output, exit code and death by signal are its own."""

    def __init__(self, command: list[str], directory: Path | None = None) -> None:
        if not command:
            raise UsageError("there is no command to run", "give one: sonde run script.py")
        self._command, self._directory = command, directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, environment: Mapping[str, str]) -> int:
        program = self._command[0]
        try:
            self._process = subprocess.Popen(
                self._command, env=environment, cwd=self._directory, close_fds=False
            )
        except FileNotFoundError:
            raise UsageError(f"{program!r} was not found", "check the path or PATH") from None
        except PermissionError:
            raise UsageError(f"{program!r} cannot be executed", "is it a program?") from None
        except OSError as error:
            raise CannotStart(f"{program!r} cannot be started: {error.strerror}") from None
        return self._process.pid

    def wait(self, adopting: bool) -> Ended:
        process = self._process
        assert process is not None
        adopted_ns = 0
        while True:
            # wait4 gives the usage of this very child with what it waited for itself.
            pid, status, usage = os.wait4(-1 if adopting else process.pid, 0)
            if pid == process.pid:
                break
            adopted_ns += used_ns(usage)
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait again
        return Ended(
            exit_code=process.returncode,
            user_ns=round(usage.ru_utime * 1e9),
            system_ns=round(usage.ru_stime * 1e9),
            max_rss_bytes=usage.ru_maxrss * 1024,
            adopted_ns=adopted_ns,
        )

    def interrupt(self, number: int) -> None:
        """Pass it on, unless the terminal did so already: the program decides."""
        if self._process is None or number in FROM_TERMINAL:
            return
        try:
            os.kill(self._process.pid, number)
        except ProcessLookupError:
            return
