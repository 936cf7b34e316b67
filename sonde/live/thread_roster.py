"""The threads of a process that is followed, under numbers that stay.

Enters: the table `threads` of each poll, numbered from 0. A log of a ring says its threads anew in each file, so one
thread comes under several numbers; it is known by its id and start. Leaves: one table, and each row's number in it.
"""

from __future__ import annotations

import numpy as np

from sonde.columns import Array, Table
from sonde.store import build


class ThreadRoster:
    """Threads in the order in which they were first seen."""

    def __init__(self) -> None:
        self._number: dict[tuple[int, int], int] = {}
        self._table: Table | None = None
        self._kinds: dict[int, str] = {}  # by number: what a thread was recognised by once is kept

    def __len__(self) -> int:
        return len(self._number)

    def take(self, told: Table) -> Array:
        """The number here of each row of `told`; the rows replace what was known."""
        keys = zip(told.array("tid").tolist(), told.array("start_ns").tolist(), strict=True)
        numbers = np.array([self._number.setdefault(key, len(self._number)) for key in keys], np.int32)
        for number, kind in zip(numbers.tolist(), told.text("kind").tolist(), strict=True):
            if kind not in (None, "native", "python") or number not in self._kinds:
                self._kinds[number] = kind or "native"
        if self._table is None:
            self._table = told
            return numbers
        known = np.arange(len(self._table))
        kept = self._table.take(~np.isin(known, numbers))
        joined = build.concat("threads", [kept, told])
        place = np.concatenate([known[~np.isin(known, numbers)], numbers])
        self._table = joined.take(np.argsort(place, kind="stable"))
        return numbers

    def table(self) -> Table:
        """`thread` counts from 0."""
        if self._table is None:
            return build.empty("threads")
        count = len(self._table)
        kinds = build.table("threads", count, kind=[self._kinds[number] for number in range(count)])
        return self._table.with_columns(thread=np.arange(count, dtype=np.int32), kind=kinds.columns["kind"])
