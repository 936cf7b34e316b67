"""The log of frequent events (phases and steps): five integers each, written in place, no system call.

raw/PID.events.bin is a row of blocks. A block belongs to one thread, so that threads need no lock: its first
40 bytes hold the thread's id, then come records of 40 bytes each:
    code, start_ns, end_ns, a, b        little-endian int64; a code of 0 ends the block
The file is mapped and shared, so what was written survives `kill -9`: the kernel owns the pages. Chunks are
allocated before they are mapped; a full disk ends the log, never the program with SIGBUS. The file is
never cut while its process lives, since a thread may still write after the last Python code has run.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from threading import Lock

from sonde import rawfolder

CHUNK_BYTES = 64 * 1024
_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
BLOCK_BYTES = 4096
RECORD_BYTES = 40
RECORD = struct.Struct("<5q")
_BLOCK_END = BLOCK_BYTES // RECORD_BYTES * RECORD_BYTES

# Codes of records. `a` and `b`: pointer of the module and number of calls, or number and backward passes of a step.
OPTIMIZER, ZERO_GRAD, BACKWARD, DATALOADER, DATALOADER_START = range(1, 6)
FORWARD, FORWARD_WITHOUT_GRAD, COMPILED, TRAIN_STEP = range(6, 10)
USER_STEP, REGION = 10, 11  # of native programs (native/agent/steps/event_log.h)
# Of the agent, in every program (native/agent/steps/collectives.cpp says what `a` and `b` are).
COLLECTIVE_QUEUED, COLLECTIVE_RAN, COLLECTIVE_WAITED, COLLECTIVE_MADE, COLLECTIVE_SIZE = range(12, 17)
COLLECTIVE_FROM = 17
COLLECTIVES = (
    *(COLLECTIVE_QUEUED, COLLECTIVE_RAN, COLLECTIVE_WAITED, COLLECTIVE_MADE, COLLECTIVE_SIZE),
    COLLECTIVE_FROM,
)
PHASE_NAMES = {
    OPTIMIZER: "optimizer",
    ZERO_GRAD: "zero_grad",
    BACKWARD: "backward",
    DATALOADER: "dataloader",
    DATALOADER_START: "dataloader_start",
    FORWARD: "forward",
    FORWARD_WITHOUT_GRAD: "forward",
    COMPILED: "compiled",
}

Record = Callable[[int, int, int, int, int], None]


class EventLog:
    """One writer process. `lost` counts records that found no room. `part_bytes`: of a ring's file; 0: no ring."""

    def __init__(self, path: str, part_bytes: int = 0) -> None:
        self.lost = 0
        self._path, self._part_bytes = path, part_bytes
        self.at_new_block: Callable[[], None] = lambda: None  # about every hundred records
        self._lock = Lock()
        self._chunk: memoryview | None = None
        self._used = CHUNK_BYTES
        self._size = 0
        self._fd = os.open(path, _NEW, 0o600)

    def writer(self, tid: int) -> Record:
        """A function that writes one record of this thread; to be called by that thread alone."""
        pack_into = RECORD.pack_into
        block: memoryview | None = None  # packing into the mapping itself takes three times as long
        at = end = 0

        def record(code: int, start_ns: int, end_ns: int, a: int, b: int) -> None:
            nonlocal block, at, end
            if at >= end:
                self.at_new_block()
                block, at = self._block()
                if block is None:
                    self.lost += 1
                    return
                end = at + _BLOCK_END
                pack_into(block, at, tid, 0, 0, 0, 0)
                at += RECORD_BYTES
            pack_into(block, at, code, start_ns, end_ns, a, b)  # type: ignore[arg-type]
            at += RECORD_BYTES

        return record

    def abandon(self) -> None:
        """In a forked child: let go of the parent's file without touching it."""
        self._lock = Lock()  # the parent may have held it in another thread
        self.close()

    def close(self) -> None:
        """No further blocks are given; those in use stay writable."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd, self._chunk = -1, None

    def _block(self) -> tuple[memoryview | None, int]:
        with self._lock:
            if self._used >= CHUNK_BYTES and not self._grow():
                return None, 0
            at = self._used
            self._used += BLOCK_BYTES
            return self._chunk, at

    def _grow(self) -> bool:
        if self._fd < 0:
            return False
        try:
            if self._part_bytes and self._size >= self._part_bytes:
                self._turn()
            os.posix_fallocate(self._fd, self._size, CHUNK_BYTES)
            self._chunk = memoryview(mmap.mmap(self._fd, CHUNK_BYTES, offset=self._size))
        except (OSError, ValueError):
            return False
        self._size += CHUNK_BYTES
        self._used = 0
        return True

    def _turn(self) -> None:
        """Go on in the next file of a ring. Blocks of this one stay writable for those who have them."""
        rawfolder.turn(self._path, first_stays=False)
        fresh = os.open(self._path, _NEW, 0o600)
        os.close(self._fd)
        self._fd, self._size = fresh, 0
