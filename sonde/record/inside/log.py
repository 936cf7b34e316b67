"""A crash-safe append-only text log that costs no system call per line.

Lines are copied into a shared mapping of the file, so what was written survives
`kill -9` at once: the kernel owns the pages. The file is longer than its text while
the program runs (zero bytes at the end, which readers strip) and cut on close.
Blocks are allocated before they are mapped, so a full disk ends the log, never the
program with SIGBUS; `lost` counts the lines that found no room.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from threading import Lock

from sonde import rawfolder

CHUNK_BYTES = 256 * 1024
_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


class MappedLog:
    """One writer process, any thread. Not to be called from a garbage-collection callback.

    `part_bytes`: of each file of a ring; 0: no ring. The first file stays: it says what the process is.
    """

    def __init__(self, path: str, part_bytes: int = 0) -> None:
        self.path = path
        self._part_bytes = part_bytes
        self.lost = 0
        self._end = 0
        self._size = 0
        self._lock = Lock()
        self._map: mmap.mmap | None = None
        self._fd = os.open(path, _NEW, 0o600)

    def write(self, line: str) -> None:
        """Append one line; the newline is added here."""
        self.write_bytes((line + "\n").encode("utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """Append a line that is encoded and ends in a newline."""
        with self._lock:
            if self._part_bytes and self._end >= self._part_bytes:
                self._turn()
            start, end = self._end, self._end + len(data)
            if end > self._size and not self._grow(end):
                self.lost += 1
                return
            assert self._map is not None
            self._map[start:end] = data
            self._end = end

    def close(self) -> None:
        """Cut the file to its text. Later lines are lost and counted."""
        with self._lock:
            if self._fd >= 0:
                self._release(cut=True)

    def abandon(self) -> None:
        """In a forked child: let go of the parent's file without touching it."""
        self._lock = Lock()  # the parent may have held it in another thread
        if self._fd >= 0:
            self._release(cut=False)

    def _turn(self) -> None:
        """Go on in the next file of a ring; where that is not possible, in this one."""
        if self._fd < 0:
            return
        try:
            rawfolder.turn(self.path, first_stays=True)
            fresh = os.open(self.path, _NEW, 0o600)
        except OSError:
            return
        self._release(cut=True)
        self._fd, self._end = fresh, 0

    def _release(self, cut: bool) -> None:
        """Unmap and close the file; with `cut`, to its text."""
        if self._map is not None:
            self._map.close()
            self._map = None
        if cut:
            os.ftruncate(self._fd, self._end)
        os.close(self._fd)
        self._fd, self._size = -1, 0

    def _grow(self, needed: int) -> bool:
        if self._fd < 0:
            return False
        size = (needed // CHUNK_BYTES + 1) * CHUNK_BYTES
        try:
            os.posix_fallocate(self._fd, 0, size)
            grown = mmap.mmap(self._fd, size)
        except (OSError, ValueError):
            return False
        if self._map is not None:
            self._map.close()
        self._map = grown
        self._size = size
        return True


def read_lines(path: str) -> list[str]:
    """The whole lines of a log, closed or torn, of a ring those of all its files: zero bytes at the end and a cut last
    line are dropped."""
    found: list[str] = []
    for part in rawfolder.parts(Path(path)) or [Path(path)]:
        text = part.read_bytes().rstrip(b"\0")
        found += [line.decode("utf-8", "replace") for line in text.split(b"\n")[:-1] if line]
    return found
