"""Identities of one source → those of the recording, so that sources share its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sonde.columns import Array, Column, Table

FindThread = Callable[
    [int, str | None], int
]  # the system's thread id, its name → its number in the recording


@dataclass
class Numbering:
    """Next free identities of a recording that is being put together."""

    op: int = 0
    kernel: int = 0
    launch: int = 0


def renumbered(
    tables: Mapping[str, Table], process: int, find_thread: FindThread, free: Numbering
) -> dict[str, Table]:
    """The tables of one source as rows of `process`; its `threads` are found or made and left out."""
    threads = tables["threads"]
    number = np.full(int(threads.array("thread").max(initial=-1)) + 2, -1, np.int64)
    rows = zip(*(threads.columns[name].tolist() for name in ("thread", "tid", "name")), strict=True)
    for row, tid, name in rows:
        number[row] = find_thread(tid, name)
    links = {}
    for owner, column in (("ops", "op"), ("launches", "launch"), ("kernels", "kernel")):
        if owner in tables:
            links[column] = _Renumber(tables[owner].array(column), getattr(free, column))
            setattr(free, column, getattr(free, column) + len(tables[owner]))
    links["parent"] = links["forward_op"] = links["op"]
    result: dict[str, Table] = {}
    for name, table in tables.items():
        if name == "threads":
            continue
        changed: dict[str, Column] = {c: links[c](table.array(c)) for c in table if c in links}
        if "thread" in table:
            changed["thread"] = number[table.array("thread")].astype(np.int32)
        if "process" in table:
            changed["process"] = np.full(len(table), process, np.int32)
        result[name] = table.with_columns(**changed)
    return result


class _Renumber:
    """Old identities → consecutive ones from `first` on, in the order of rows; unknown ones → -1."""

    def __init__(self, old: Array, first: int) -> None:
        self._order = np.argsort(old, kind="stable")
        self._old = old[self._order]
        self._first = first

    def __call__(self, values: Array) -> Array:
        if not len(self._old):
            return np.full(len(values), -1, np.int64)
        at = np.minimum(np.searchsorted(self._old, values), len(self._old) - 1)
        return np.where(self._old[at] == values, self._order[at] + self._first, -1)
