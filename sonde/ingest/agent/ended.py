"""What processes said of themselves at their end: `raw/ended.tsv`, written by native/agent/process/ended.cpp.

Enters: the file, and the rows of `processes` that logs gave. Leaves: those rows with the CPU time that a log
could not tell, and a row for every process without a log: helpers, and children too short for one.
Invariant: a process's CPU time is counted once. A line holds what the process used since its fork, so the
differences between the lines of one process are what each of its programs used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.columns import Table, Text
from sonde.ingest.agent.process_table import UNKNOWN_EXIT
from sonde.store import build

_FIELDS = 9


@dataclass(frozen=True)
class Ended:
    """One program of one process, at its end. `user_ns` and `system_ns` are of this program alone."""

    pid: int
    parent_pid: int
    start_ns: int
    end_ns: int
    user_ns: int
    system_ns: int
    max_rss_bytes: int
    how: str  # exit or exec
    program: str


def read_ended(raw: Path) -> list[Ended]:
    """In the order of their ends. Lines that are cut or not understood are left out."""
    try:
        lines = (raw / rawfolder.ENDED).read_text(errors="replace").splitlines()
    except OSError:
        return []
    by_pid: dict[int, list[Ended]] = {}
    for line in lines:
        words = line.split("\t")
        if len(words) != _FIELDS or not all(word.isdecimal() for word in words[:7]):
            continue
        pid, parent, start, end, user, system, rss = map(int, words[:7])
        one = Ended(pid, parent, start, end, user, system, rss, how=words[7], program=words[8])
        mine = by_pid.setdefault(one.pid, [])
        if one.how == "stay":  # the exec before it failed
            if mine and mine[-1].how == "exec":
                mine.pop()
        elif one.how in ("exit", "exec"):
            mine.append(one)
    found = [one for mine in by_pid.values() for one in _alone(mine)]
    return sorted(found, key=lambda one: one.end_ns)


def _alone(lines: list[Ended]) -> Iterable[Ended]:
    """What each program of a process used, of what the process used up to then."""
    user = system = 0
    for one in sorted(lines, key=lambda one: one.end_ns):
        yield replace(one, user_ns=max(one.user_ns - user, 0), system_ns=max(one.system_ns - system, 0))
        # After an exit the pid belongs to another process.
        user, system = (one.user_ns, one.system_ns) if one.how == "exec" else (0, 0)


def with_ended(processes: Table, ended: Iterable[Ended]) -> Table:
    """`processes` with the CPU time of `ended`; processes that have no row get one."""
    pid, start = processes.array("pid").tolist(), processes.array("start_ns").tolist()
    user, system = (processes.array(name).copy() for name in ("cpu_user_ns", "cpu_system_ns"))
    rows_of: dict[int, list[int]] = {}
    for row, one in enumerate(pid):
        rows_of.setdefault(one, []).append(row)
    new: list[Ended] = []
    carried: dict[
        int, tuple[int, int]
    ] = {}  # of programs that had no row: counts with the process's next one
    for one in ended:
        mine = [
            row
            for row in rows_of.get(one.pid, [])
            if start[row] < 0 or one.start_ns <= start[row] <= one.end_ns
        ]
        more_user, more_system = carried.pop(one.pid, (0, 0))
        if not mine and one.how == "exec":
            carried[one.pid] = (one.user_ns + more_user, one.system_ns + more_system)
            continue
        if not mine:
            new.append(replace(one, user_ns=one.user_ns + more_user, system_ns=one.system_ns + more_system))
            continue
        last = mine[-1]
        if user[last] < 0 or system[last] < 0:  # its log has no end
            others = [row for row in mine[:-1] if user[row] >= 0]
            user[last] = max(one.user_ns - int(user[others].sum()), 0)
            system[last] = max(one.system_ns - int(system[others].sum()), 0)
        user[last] += more_user
        system[last] += more_system
    known = processes.with_columns(cpu_user_ns=user, cpu_system_ns=system)
    return build.concat("processes", [known, _rows(known, new)]) if new else known


def _rows(processes: Table, new: list[Ended]) -> Table:
    first = int(processes.array("process").max()) + 1 if len(processes) else 0
    number = dict(zip(processes.array("pid").tolist(), processes.array("process").tolist(), strict=True))
    for i, one in enumerate(new):
        number.setdefault(one.pid, first + i)
    return build.table(
        "processes",
        len(new),
        process=np.arange(first, first + len(new)),
        pid=[one.pid for one in new],
        parent=[number.get(one.parent_pid, -1) for one in new],
        role=Text.of(["child" if first + i else "main" for i in range(len(new))]),
        command=Text.of([one.program for one in new]),
        start_ns=[one.start_ns for one in new],
        end_ns=[one.end_ns for one in new],
        exit_code=np.full(len(new), UNKNOWN_EXIT),
        cpu_user_ns=[one.user_ns for one in new],
        cpu_system_ns=[one.system_ns for one in new],
        max_rss_bytes=[one.max_rss_bytes for one in new],
    )
