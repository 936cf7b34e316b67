"""Traces of programs that run, from torch's own profiler: ask, wait, collect.

Enters: a `KinetoDaemon`, which processes to ask and for how much. Leaves: one trace file per process, named after its
rank, in a folder that every command of Sonde takes. Programs need KINETO_USE_DAEMON=1 in their environment from the
start, nothing else.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sonde.live.kineto_ipc import KinetoDaemon

SETTLE_S = 0.5  # a trace file is whole when it has not grown for so long and ends as JSON does
MOST_TRIES = 3  # of a process whose trace lacks what was asked for: it was still starting
START_AHEAD_S = 7.0  # a common start must lie behind every process's next question (5 s apart)


_STEP = b"Optimizer.step#"  # torch's own annotation


@dataclass(frozen=True)
class Wanted:
    """How much to trace: so many steps, or milliseconds at the same moment in all processes."""

    steps: int = 0
    milliseconds: int = 500
    shapes: bool = True
    stacks: bool = False

    def configuration(self, path: Path, start_epoch_ms: int) -> str:
        lines = [f"ACTIVITIES_LOG_FILE={path}"]
        if self.steps:
            lines += ["PROFILE_START_ITERATION=0", "PROFILE_START_ITERATION_ROUNDUP=1"]
            lines += [f"ACTIVITIES_ITERATIONS={self.steps}"]
        else:
            lines += [
                f"PROFILE_START_TIME={start_epoch_ms}",
                f"ACTIVITIES_DURATION_MSECS={self.milliseconds}",
            ]
        lines += ["ACTIVITIES_WARMUP_PERIOD_SECS=0"]
        lines += [
            f"PROFILE_REPORT_INPUT_SHAPES={_word(self.shapes)}",
            f"PROFILE_WITH_STACK={_word(self.stacks)}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Collected:
    """What came back."""

    traces: tuple[Path, ...]
    empty: tuple[int, ...]  # processes whose trace holds no operator: launchers
    silent: tuple[int, ...]  # asked, but no trace arrived in time


def collect(
    daemon: KinetoDaemon,
    pids: Iterable[int],
    wanted: Wanted,
    folder: Path,
    wait_s: float,
    say: Callable[[str], None],
) -> Collected:
    """Ask these processes and wait for their traces, answering everyone meanwhile."""
    asked = [daemon.clients[pid] for pid in pids]
    # Kineto puts the process id in front of the extension.
    expected = {client.pid: folder / f"trace_{client.pid}.json" for client in asked}
    tries = dict.fromkeys(expected, 0)
    start_ms = round((time.time() + START_AHEAD_S) * 1000)
    for client in asked:
        client.ask(wanted.configuration(folder / "trace.json", start_ms))
    until = time.monotonic() + wait_s
    done: set[int] = set()
    while time.monotonic() < until and len(done) < len(asked):
        daemon.serve(SETTLE_S)
        for client in asked:
            path = expected[client.pid]
            if client.pid in done or client.handed_ns < 0 or not _is_whole(path):
                continue
            tries[client.pid] += 1
            if _holds(path, wanted) or tries[client.pid] == MOST_TRIES:
                done.add(client.pid)
                say(f"trace of process {client.pid}: {path.stat().st_size / 1e6:.1f} MB")
            else:
                say(f"process {client.pid} was not ready yet, asking again")
                path.unlink()
                client.ask(wanted.configuration(folder / "trace.json", round(time.time() * 1000 + 1000)))
    for client in asked:
        client.configuration = None
    empty = {pid for pid in done if not _holds(expected[pid], Wanted())}
    for pid in empty:
        expected[pid].unlink()
    traces = tuple(sorted(_labelled(expected[pid], pid) for pid in done - empty))
    silent = tuple(client.pid for client in asked if client.pid not in done)
    return Collected(traces, tuple(sorted(empty)), silent)


def rank_of(pid: int) -> int | None:
    """From the environment that its launcher gave it."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    told = dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)
    for name in (b"RANK", b"SLURM_PROCID", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
        if told.get(name, b"").isdigit():
            return int(told[name])
    return None


def _labelled(path: Path, pid: int) -> Path:
    rank = rank_of(pid)
    named = path.with_name(f"rank-{rank}.{pid}.pt.trace.json" if rank is not None else f"{pid}.pt.trace.json")
    return path.rename(named)


def _is_whole(path: Path) -> bool:
    """Kineto writes under another name and renames at the end, but versions differ: look at the end, too."""
    try:
        if time.time() - path.stat().st_mtime < SETTLE_S:
            return False
        with path.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 64, 0))
            return file.read().rstrip().endswith(b"}")
    except OSError:
        return False


def _holds(path: Path, wanted: Wanted) -> bool:
    """Operators, and as many optimizer steps as were asked for. A program that has not begun to train gives neither."""
    operators, steps, rest = False, 0, b""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            text = rest + block
            operators |= b'"cpu_op"' in text
            steps += text.count(_STEP)
            rest = text[-(len(_STEP) - 1) :]
    return operators and steps >= wanted.steps


def _word(value: bool) -> str:
    return json.dumps(value)
