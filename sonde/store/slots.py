"""Files in memory with a fixed number: what a locked connection may read is settled when it is made, by path, and what
a path leads to is followed then.

Enters: descriptors of any files. Leaves: descriptors of copies of them, the same numbers each time.
Holds: a slot that is not in use is empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_BLOCK_BYTES = 1 << 20


class Slots:
    """`numbers` are ours until `close`."""

    def __init__(self, count: int) -> None:
        self.numbers: list[int] = []
        try:
            for number in range(count):
                self.numbers.append(os.memfd_create(f"sonde-{number}", os.MFD_CLOEXEC))
        except OSError:
            self.close()
            raise

    @contextmanager
    def holding(self, descriptors: Sequence[int]) -> Iterator[list[int]]:
        """Copies of these files, in the first slots."""
        used = self.numbers[: len(descriptors)]
        try:
            for descriptor, slot in zip(descriptors, used, strict=True):
                _copy(descriptor, slot)
            yield used
        finally:
            for slot in used:
                os.ftruncate(slot, 0)

    def close(self) -> None:
        for number in self.numbers:
            os.close(number)
        self.numbers = []


def _copy(source: int, target: int) -> None:
    """All of a file, whatever its position is."""
    at = 0
    while block := os.pread(source, _BLOCK_BYTES, at):
        at += os.pwrite(target, block, at)
