"""Numbers for processes and threads that all sources of a recording share.

The agent's tables come first; an observer's log or a trace then asks by pid and by the
operating system's thread id, and gets the number that is there, or a new row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.columns import Table
from sonde.store import build


class Roster:
    """Finds or makes rows of `processes` and `threads`."""

    def __init__(self, processes: Table | None = None, threads: Table | None = None) -> None:
        self._old_processes = processes if processes is not None else build.empty("processes")
        self._old_threads = threads if threads is not None else build.empty("threads")
        self._process: dict[int, int] = {}
        # A pid that came twice (exec, reuse): the later row is the one whose Python we saw.
        for number, pid in _pairs(self._old_processes, "process", "pid"):
            self._process[pid] = number
        self._thread: dict[tuple[int, int], int] = {}
        owners = self._old_threads.array("process").tolist()
        for (number, tid), owner in zip(_pairs(self._old_threads, "thread", "tid"), owners, strict=True):
            self._thread[owner, tid] = number
        self._new_processes: list[dict[str, Any]] = []
        self._new_threads: list[dict[str, Any]] = []
        self._known: dict[int, dict[str, Any]] = {}

    def process(self, pid: int) -> int:
        """The process with this pid."""
        number = self._process.get(pid)
        if number is None:
            number = max([-1, *self._process.values()]) + 1
            self._process[pid] = number
            self._new_processes.append({"process": number, "pid": pid})
        return number

    def has_process(self, pid: int) -> bool:
        return pid in self._process

    def thread(self, process: int, tid: int, name: str | None = None, kind: str = "python") -> int:
        """The thread with this operating system id in this process."""
        number = self._thread.get((process, tid))
        if number is None:
            number = max([-1, *self._thread.values()]) + 1
            self._thread[process, tid] = number
            self._new_threads.append(
                {"thread": number, "process": process, "tid": tid, "name": name, "kind": kind}
            )
        return number

    def know(self, process: int, **facts: Any) -> None:
        """Facts of a process that only its Python tells: rank, world_size, role, …"""
        self._known.setdefault(process, {}).update(facts)

    def processes(self) -> Table:
        """All processes, with what was learned about them filled in."""
        table = _extend(self._old_processes, self._new_processes)
        numbers = table.array("process").tolist()
        for name in {name for facts in self._known.values() for name in facts}:
            facts = {number: known[name] for number, known in self._known.items() if name in known}
            column = table.columns[name]
            values = column.tolist()
            merged = [facts.get(number, value) for number, value in zip(numbers, values, strict=True)]
            table = table.with_columns(**{name: _column(table.name, name, merged)})
        return table

    def threads(self) -> Table:
        return _extend(self._old_threads, self._new_threads)


def _pairs(table: Table, first: str, second: str) -> list[tuple[int, int]]:
    return list(zip(table.array(first).tolist(), table.array(second).tolist(), strict=True))


def _column(table: str, name: str, values: list[Any]) -> Any:
    return build.table(table, len(values), **{name: values}).columns[name]


def _extend(table: Table, rows: list[dict[str, Any]]) -> Table:
    if not rows:
        return table
    names = rows[0].keys()
    added = build.table(table.name, len(rows), **{name: [row[name] for row in rows] for name in names})
    if table.name == "processes":
        added = added.with_columns(exit_code=np.full(len(rows), -1000, np.int32))
    return build.concat(table.name, [table, added])
