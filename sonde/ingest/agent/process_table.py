"""Rows of `processes`: order, parents and roles."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.columns import Table, Text
from sonde.ingest.agent.log import RawLog
from sonde.redact import hide_command
from sonde.store import build

if TYPE_CHECKING:
    from sonde.ingest.agent.process import ProcessTables

UNKNOWN_EXIT = -1000


@dataclass(frozen=True)
class ProcessFacts:
    """What others know about a process: the launcher its exit code, the Python side its rank."""

    exit_code: int = UNKNOWN_EXIT
    rank: int = -1
    world_size: int = -1
    role: str | None = None


def order(logs: Sequence[RawLog]) -> list[RawLog]:
    """The program itself first (the earliest whose parent is not recorded), the others by their start."""
    by_start = sorted(logs, key=lambda log: log.header.start_ns)
    pids = {log.header.pid for log in logs}
    roots = [log for log in by_start if log.header.parent_pid not in pids]
    if not roots:
        return by_start
    return [roots[0], *(log for log in by_start if log is not roots[0])]


def process_rows(
    logs: Sequence[RawLog], parts: Sequence[ProcessTables], facts: Mapping[int, ProcessFacts]
) -> Table:
    """`logs` in the order of their numbers."""
    known = [facts.get(log.header.pid, ProcessFacts()) for log in logs]
    footers = [log.footer for log in logs]
    versions = [log.header.python_version for log in logs]
    return build.table(
        "processes",
        len(logs),
        process=np.arange(len(logs)),
        pid=[log.header.pid for log in logs],
        parent=[_parent(i, logs) for i in range(len(logs))],
        rank=[k.rank for k in known],
        world_size=[k.world_size for k in known],
        role=Text.of(
            [_role(i, log, part, k) for i, (log, part, k) in enumerate(zip(logs, parts, known, strict=True))]
        ),
        command=Text.of([_command(log.header.command) for log in logs]),
        runtime=Text.of([f"python {v}" if v else "native" for v in versions]),
        engine=Text.of([log.header.engine or None for log in logs]),
        start_ns=[log.cut.from_ns if log.cut else log.header.start_ns for log in logs],
        end_ns=[_end(log, part) for log, part in zip(logs, parts, strict=True)],
        exit_code=[k.exit_code for k in known],
        cpu_user_ns=[f.user_ns if f else -1 for f in footers],
        cpu_system_ns=[f.system_ns if f else -1 for f in footers],
        max_rss_bytes=[f.max_rss_bytes if f else -1 for f in footers],
    )


def _command(recorded: str) -> str:
    """The log has the arguments as the system gives them, each ended by a zero byte."""
    # The agent hid secrets already; logs of older ones have them still.
    return shlex.join(hide_command(recorded.rstrip("\0").split("\0"))) if "\0" in recorded else recorded


def _parent(index: int, logs: Sequence[RawLog]) -> int:
    """The process with the parent's pid that was the last to start before this one."""
    header = logs[index].header
    candidates = [
        (log.header.start_ns, i)
        for i, log in enumerate(logs)
        if i != index and log.header.pid == header.parent_pid and log.header.start_ns <= header.start_ns
    ]
    return max(candidates)[1] if candidates else -1


def _role(index: int, log: RawLog, part: ProcessTables, known: ProcessFacts) -> str:
    if known.role:
        return known.role
    if part.is_data_loader and index > 0:
        return "dataloader"
    if known.rank >= 0 and not log.header.followed_fork:
        return "rank"
    return "main" if index == 0 else "child"


def _end(log: RawLog, part: ProcessTables) -> int:
    if log.footer:
        return log.footer.end_ns
    ends = part.threads.array("end_ns")
    return int(ends.max()) if len(ends) else log.header.start_ns
