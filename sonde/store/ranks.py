"""`--rank 0,3`: the part of a recording that is of some ranks.

Enters: a recording and ranks. Leaves: a recording whose tables hold the rows of those ranks' processes (with their
data-loading workers); what belongs to no process stays.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from sonde.columns import Array, Table
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.store.schema import TABLES


def ranks_of(recording: Recording) -> list[int]:
    """The ranks that the recording has."""
    return sorted({r for r in recording.table("processes").array("rank").tolist() if r >= 0})


def parse_ranks(text: str) -> list[int]:
    """0,3 or 0-7."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UsageError(
                f"--rank {text!r} is not understood", "give ranks as in --rank 3 or --rank 0,3 or --rank 0-7"
            )
        found.update(range(int(first), min(int(last), int(first) + 100_000) + 1) if dash else [int(first)])
    return sorted(found)


def only_ranks(recording: Recording, wanted: Collection[int]) -> Recording:
    """The recording of these ranks alone."""
    there = ranks_of(recording)
    absent = sorted(set(wanted) - set(there))
    if absent:
        have = ", ".join(map(str, there[:20])) or "none"
        raise UsageError(f"there is no rank {absent[0]} in the recording", f"it has the ranks: {have}")
    processes = recording.table("processes")
    keep = processes.array("process")[np.isin(processes.array("rank"), sorted(wanted))]
    threads = recording.table("threads")
    of_thread = threads.array("thread")[np.isin(threads.array("process"), keep)]
    tables = {name: _of(recording.table(name), keep, of_thread) for name in TABLES}
    return Recording(replace(recording.meta), tables, recording.path)


def _of(table: Table, processes: Array, threads: Array) -> Table:
    if "process" in table:
        own = table.array("process")
        return table.take(np.flatnonzero(np.isin(own, processes) | (own < 0)))
    if "thread" in table:
        return table.take(np.flatnonzero(np.isin(table.array("thread"), threads)))
    return table
