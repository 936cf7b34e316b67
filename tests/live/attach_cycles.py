"""Attach to a program and leave it, again and again, and see whether it notices.

In: the name of a program of `programs`, how many cycles. Out: what each cycle cost, and whether the program ended as
it does alone: exit code, and a checksum over what it computed in the same number of steps.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from sonde.errors import SondeError
from sonde.record.inside.options import ObserveOptions
from sonde.record.outside.attach.visit import Visit
from sonde.record.outside.environment import python_environment

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[2]
MANY = 1 << 60
PATIENCE_S = 120.0
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
GUESTS_PYTHON = ROOT / ".make" / "guests-environment" / "bin" / "python"
KINDS = ("train", "loader", "churn", "jemalloc", "server", "jax_train")


@dataclass
class Outcome:
    """All cycles with one program."""

    kind: str
    cycles: int = 0
    stop_ms: list[float] = field(default_factory=list)  # the longest of each cycle
    failed: list[str] = field(default_factory=list)  # attaches that were refused
    exit_code: int | None = None
    said: str = ""  # "STEPS CHECKSUM"
    alone: str = ""  # the same of a run of as many steps without Sonde
    left: list[str] = field(default_factory=list)  # threads and sockets of Sonde's that were found afterwards

    @property
    def is_unharmed(self) -> bool:
        return self.exit_code == 0 and self.said == self.alone and not self.failed and not self.left


def command_of(kind: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """How the program is started; C++ is compiled first."""
    environment = dict(os.environ)
    if kind in ("churn", "jemalloc"):
        binary = folder / "churn"
        if not binary.exists():
            source = PROGRAMS / "churn.cpp"
            subprocess.run(["g++", "-O1", "-std=c++17", "-pthread", "-o", binary, source], check=True)
        if kind == "jemalloc":
            environment["LD_PRELOAD"] = JEMALLOC
        return [str(binary)], environment
    python = str(GUESTS_PYTHON) if kind == "jax_train" else sys.executable
    return [python, str(PROGRAMS / f"{kind}.py")], environment


def is_possible(kind: str) -> bool:
    return Path({"jemalloc": JEMALLOC, "jax_train": str(GUESTS_PYTHON)}.get(kind, sys.executable)).exists()


def campaign(kind: str, cycles: int, most_s: float = MANY, hold_s: float = 0.1) -> Outcome:
    """So many cycles, or as many as fit into the time."""
    outcome = Outcome(kind)
    chance = random.Random(kind)
    with tempfile.TemporaryDirectory(prefix="sonde-cycles-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        command, environment = command_of(kind, folder)
        stop = folder / "stop"
        with subprocess.Popen(
            [*command, str(stop), str(MANY)], stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            end = time.monotonic() + most_s
            try:
                while outcome.cycles < cycles and time.monotonic() < end and process.poll() is None:
                    _cycle(process.pid, folder / "rec", chance.uniform(0, 2 * hold_s), outcome)
                outcome.left = leftovers(process.pid)
            finally:
                stop.touch()
                try:
                    outcome.said = process.communicate(timeout=PATIENCE_S)[0].decode().strip()
                except subprocess.TimeoutExpired:
                    process.kill()  # it hangs
                    process.communicate()
            outcome.exit_code = process.returncode
        steps = outcome.said.split(" ")[0] if outcome.said else "0"
        outcome.alone = _alone(kind, command, environment, folder, steps)
    return outcome


def _cycle(pid: int, folder: Path, hold_s: float, outcome: Outcome) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "raw").mkdir(parents=True)
    visit = Visit(pid, folder)
    outcome.cycles += 1
    try:
        visit.start({"SONDE_AGENT_RATE": "100", **python_environment(folder, ObserveOptions(), {})})
        time.sleep(hold_s)
        visit.stop()
    except SondeError as error:
        outcome.failed.append(error.message)
    outcome.stop_ms.append(visit.cost.stop_ms)


def _alone(kind: str, command: list[str], environment: dict[str, str], folder: Path, steps: str) -> str:
    """What it says without Sonde after as many steps; programs without steps have one right answer."""
    if kind in ("churn", "jemalloc"):
        return "0 0"
    most = steps if int(steps) else "1"
    made = [*command, str(folder / "never"), most]
    result = subprocess.run(made, stdout=subprocess.PIPE, env=environment, check=True)
    return result.stdout.decode().removeprefix("ready\n").strip()


OUR_SIGNALS = frozenset({"SIGPROF", "SIGSEGV", "SIGBUS"})  # the programs here have no handlers of these


def caught(pid: int) -> set[str]:
    """Signals that the process has a handler for, as the kernel sees it."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(re.search(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)[1], 16)  # type: ignore[index]
    return {one.name for one in signal.Signals if mask >> (one - 1) & 1}


def timers(pid: int) -> list[str]:
    """POSIX timers of the process, a line each."""
    text = Path(f"/proc/{pid}/timers").read_text()
    return [line for line in text.splitlines() if line.startswith("ID:")]


def leftovers(pid: int) -> list[str]:
    """What a process still has of Sonde's that could run: threads, timers, signal handlers and sockets."""
    found = [f"timer {timer}" for timer in timers(pid)]
    found += [f"handler of {name}" for name in OUR_SIGNALS & caught(pid)]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            name = (task / "comm").read_text().strip()
        except OSError:
            continue
        if name.startswith("sonde"):
            found.append(f"thread {name}")
    found += [str(path) for path in Path("/tmp").glob(f"sonde-*/{pid}.sock")]
    return found
