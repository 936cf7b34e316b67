"""raw/PID.marks*.jsonl of a process that still runs: each poll reads the lines that came since.

The file is longer than its text while it is written, and in a ring (`sonde.rawfolder.parts`) goes on in another one.
The first file says what the process is; marks that ended before a given time are forgotten.
"""

from __future__ import annotations

import os
from pathlib import Path

from sonde import rawfolder
from sonde.ingest.observers.marks import ProcessMarks, take_line
from sonde.ingest.turning_file import TurningFile
from sonde.record.inside.log import read_lines

_MOST_BYTES_AT_ONCE = 4 << 20


class FollowedMarks:
    """One process. `path` need not exist yet."""

    def __init__(self, pid: int, path: Path) -> None:
        self.marks = ProcessMarks(pid)
        self._path = path
        self._file = TurningFile(path)
        self._at = 0

    def poll(self, since_ns: int) -> None:
        """Take in new lines, and forget marks that ended before `since_ns`."""
        if self._file.fd < 0 and not self._open():
            return
        fresh = self._take()
        while self._file.turn():
            self._at = 0
            fresh += self._take()
        if fresh:
            self.marks.marks = [row for row in self.marks.marks if ended_ns(row) >= since_ns]
            self.marks.losses = []  # those of a process that goes on are not shown

    def close(self) -> None:
        self._file.close()

    def _open(self) -> bool:
        try:
            older = rawfolder.parts(self._path)[:-1]
            self._file.open()
        except OSError:
            return False
        for line in read_lines(str(older[0])) if older else []:
            take_line(self.marks, line)
        return True

    def _take(self) -> int:
        """How many lines there were."""
        data = os.pread(self._file.fd, _MOST_BYTES_AT_ONCE, self._at)
        text = data[: data.rfind(b"\n", 0, _text_end(data)) + 1]
        self._at += len(text)
        lines = text.decode("utf-8", "replace").splitlines()
        return sum(take_line(self.marks, line) for line in lines)


def ended_ns(row: dict[str, object]) -> int:
    """When a mark ended; -1 where the line does not say."""
    value = row.get("end_ns")
    return value if isinstance(value, int) else -1


def _text_end(data: bytes) -> int:
    zero = data.find(b"\0")
    return len(data) if zero < 0 else zero
