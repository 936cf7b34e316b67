"""Run a small program with the agent inside and read what it logged: the tool of the tests beside it."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.log import WALK_RESIDUAL, RawLog
from sonde.record.outside.launch import LaunchOptions, agent_environment

PROGRAMS = Path(__file__).parent / "programs"
NOBODY = 65534
# Seconds beyond what a program was asked to run. Pytest's own limit reaches the main thread only.
HANGS_AFTER_S = 120.0


@dataclass(frozen=True)
class Run:
    """What the program did and what the agent wrote about it."""

    code: int
    output: str
    errors: str
    folder: Path
    cpu_s: float  # by rusage of the program and all it waited for
    pid: int

    def logs(self) -> list[RawLog]:
        return [read_raw_log(path) for path in sorted((self.folder / "raw").glob("*.slog"))]

    def main(self) -> RawLog:
        """The log of the program itself (its last one, when it replaced itself)."""
        logs = [log for log in self.logs() if log.header.pid == self.pid]
        return max(logs, key=lambda log: log.header.start_ns)


def weights_s(log: RawLog) -> float:
    """CPU time that the log's samples stand for."""
    return float(log.samples.weight_ns.sum()) / 1e9


def cpu_s(log: RawLog) -> float:
    """CPU time of the process by rusage, as its footer says."""
    assert log.footer is not None
    return (log.footer.user_ns + log.footer.system_ns) / 1e9


def ticks(log: RawLog) -> int:
    """Samples with a stack."""
    return int((log.samples.walk_end != WALK_RESIDUAL).sum())


def losses(log: RawLog) -> dict[str, int]:
    counts: dict[str, int] = {}
    for i, count in enumerate(log.losses.count):
        cause = str(log.losses.cause[i])
        counts[cause] = counts.get(cause, 0) + int(count)
    return counts


def run(
    command: Sequence[str | Path],
    rate_hz: int = 1000,
    engine: str = "auto",
    nobody: bool = False,
    environment: Mapping[str, str] | None = None,
    blocks: bool = False,
    agent: bool = True,
    limit_s: float = HANGS_AFTER_S,
    **popen: Any,
) -> Run:
    """Start it as `sonde run` would (or, without `agent`, as it is), but with its output kept.

    A program that hangs is killed with all its children, so that its caller fails and does not hang with it.
    """
    folder = Path(tempfile.mkdtemp(prefix="sonde-test-"))  # not tmp_path: nobody must get in
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "raw").mkdir()
    if nobody:
        folder.chmod(0o777)
        (folder / "raw").chmod(0o777)
        popen.update(user=NOBODY, group=NOBODY, extra_groups=[])
    options = LaunchOptions(rate_hz=rate_hz, engine=engine, blocks=blocks, environment=environment or {})
    env = agent_environment(folder, options, os.environ, os.getpid()) if agent else {**os.environ}
    process = subprocess.Popen(
        [str(part) for part in command],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    watchdog = threading.Timer(limit_s, _kill_tree, [process.pid])
    watchdog.daemon = True
    watchdog.start()
    output, errors = process.stdout.read(), process.stderr.read()  # small: no pipe fills up
    process.stdout.close()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    watchdog.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        code=process.returncode,
        output=output,
        errors=errors,
        folder=folder,
        cpu_s=usage.ru_utime + usage.ru_stime,
        pid=process.pid,
    )


def _kill_tree(pid: int) -> None:
    """The program and its children, the youngest first: a child that hangs holds its parent's pipes."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                _kill_tree(int(child))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def symbol_range(program: Path, name: str) -> tuple[int, int]:
    """Where a function of a program at a fixed address lies, by nm."""
    for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    raise LookupError(name)


def share_under(log: RawLog, program: Path, function: str, among: Sequence[str]) -> tuple[float, int]:
    """Share of samples whose stack passes through `function` among those that pass through any of `among`."""
    parent, pc = log.nodes.parent, log.nodes.pc
    inside = {}
    for name in among:
        low, high = symbol_range(program, name)
        found = (pc >= low) & (pc < high)
        for row in range(len(pc)):  # parents come before children
            if parent[row]:
                found[row] |= found[parent[row] - 1]
        inside[name] = np.concatenate([[False], found])[log.samples.native]
    total = np.logical_or.reduce([inside[name] for name in among]).sum()
    return float(inside[function].sum()) / max(1, int(total)), int(total)
