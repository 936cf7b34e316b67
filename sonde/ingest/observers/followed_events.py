"""raw/PID.events*.bin of a process that still runs: each poll gives the events that came since.

The file is mapped and written in place by the program (`sonde.record.inside.events`), a block per thread at a time. A
block that is full is not read again. In a ring (`sonde.rawfolder.parts`) each file is left for the next one once that
is there; what threads still write into their blocks of it is met by those who read all files at the end.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.events import Events
from sonde.ingest.turning_file import TurningFile
from sonde.record.inside.events import BLOCK_BYTES, RECORD_BYTES

_PER_BLOCK = BLOCK_BYTES // RECORD_BYTES - 1  # the first record's place holds the thread's id
MOST_BLOCKS_AT_ONCE = 4096


class FollowedEvents:
    """One file. `path` need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._file = TurningFile(path)
        self._first_open = 0  # blocks before it are full and have been handed out
        self._taken: dict[int, int] = {}  # records handed out, by block from there on

    def poll(self) -> Events:
        """New events, in order of their start."""
        if self._file.fd < 0:
            try:
                self._file.open()
            except OSError:
                return event_files.none()
        found = self._take()
        while self._file.turn():
            self._first_open, self._taken = 0, {}
            found = event_files.joined(found, self._take())
        return found

    def close(self) -> None:
        self._file.close()

    def _take(self) -> Events:
        fd = self._file.fd
        blocks = os.fstat(fd).st_size // BLOCK_BYTES - self._first_open
        size = min(max(blocks, 0), MOST_BLOCKS_AT_ONCE) * BLOCK_BYTES
        data = os.pread(fd, size, self._first_open * BLOCK_BYTES)
        words = np.frombuffer(data[: len(data) // BLOCK_BYTES * BLOCK_BYTES], "<i8").reshape(
            -1, BLOCK_BYTES // 8
        )
        found = event_files.none()
        for index, block in enumerate(words):
            number = self._first_open + index
            rows = block[: (_PER_BLOCK + 1) * 5].reshape(-1, 5)
            written = int(np.logical_and.accumulate(rows[1:, 0] != 0).sum())
            fresh = rows[1 + self._taken.get(number, 0) : 1 + written]
            if len(fresh):
                found = event_files.joined(found, _sound(int(rows[0, 0]), fresh))
            self._taken[number] = written
        while self._taken.get(self._first_open) == _PER_BLOCK:
            del self._taken[self._first_open]
            self._first_open += 1
        return found


def _sound(tid: int, rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Events:
    """Records that can be true; one that is being written right now has no end yet and is met again at the end."""
    sound = rows[(rows[:, 1] > 0) & (rows[:, 2] >= rows[:, 1])]
    return event_files.of(np.column_stack([np.full(len(sound), tid), sound]))
