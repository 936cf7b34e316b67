"""raw/PID.events*.bin → the phases and steps that a process noted, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.columns import Array
from sonde.record.inside.events import (
    BLOCK_BYTES,
    COLLECTIVES,
    PHASE_NAMES,
    RECORD_BYTES,
    REGION,
    TRAIN_STEP,
    USER_STEP,
)
from sonde.store.losses import Loss

PHASES = (*PHASE_NAMES, TRAIN_STEP, USER_STEP, REGION)
_WORDS = RECORD_BYTES // 8
_PER_BLOCK = BLOCK_BYTES // RECORD_BYTES


@dataclass(frozen=True)
class Events:
    """One row per event, in order of start."""

    tid: Array
    code: Array
    start_ns: Array
    end_ns: Array
    a: Array
    b: Array
    bad: int = 0  # records that cannot be true

    def __len__(self) -> int:
        return len(self.code)

    def take(self, rows: Array) -> Events:
        return Events(
            self.tid[rows],
            self.code[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.a[rows],
            self.b[rows],
        )


def impossible(path: Path, bad: int) -> Loss:
    """The loss row of records that cannot be true."""
    return Loss(-1, "bad_mark", bad, "events", f"records of {path.name} that cannot be true")


def none() -> Events:
    """No events."""
    empty = np.empty(0, np.int64)
    return Events(empty, empty, empty, empty, empty, empty)


def of(rows: Array) -> Events:
    """From rows of tid, code, start_ns, end_ns, a, b; sorted as `read` does."""
    tid, code, start, end, a, b = np.asarray(rows, np.int64).reshape(-1, 6).T
    return Events(tid, code, start, end, a, b).take(np.lexsort((-end, start)))


def joined(first: Events, second: Events) -> Events:
    """All rows of both, in order."""
    rows = [(e.tid, e.code, e.start_ns, e.end_ns, e.a, e.b) for e in (first, second) if len(e)]
    return of(np.concatenate([np.stack(row, axis=1) for row in rows])) if rows else none()


def read(path: Path, codes: tuple[int, ...] = PHASES) -> Events:
    """The records of these kinds, from a process that ended in any way, or still runs."""
    parts = rawfolder.parts(path)  # each a row of whole blocks
    data = np.concatenate([np.fromfile(part, np.uint8) for part in parts or [path]])
    blocks = data[: len(data) // BLOCK_BYTES * BLOCK_BYTES].reshape(-1, BLOCK_BYTES)
    words = blocks[:, : _PER_BLOCK * RECORD_BYTES].copy().view("<i8").reshape(-1, _PER_BLOCK, _WORDS)
    tid = np.repeat(words[:, :1, 0], _PER_BLOCK - 1, axis=1).ravel()
    rows = words[:, 1:].reshape(-1, _WORDS)
    written = np.logical_and.accumulate(words[:, 1:, 0] != 0, axis=1).ravel() if len(words) else tid != 0
    known = np.isin(rows[:, 0], [*PHASES, *COLLECTIVES])
    sound = known & (rows[:, 1] > 0) & (rows[:, 2] >= rows[:, 1])
    keep = np.flatnonzero(written & sound & (tid > 0) & np.isin(rows[:, 0], codes))
    keep = keep[np.lexsort((-rows[keep, 2], rows[keep, 1]))]
    code, start, end, a, b = (rows[keep, i].copy() for i in range(_WORDS))
    return Events(tid[keep], code, start, end, a, b, int((written & ~sound).sum()))
