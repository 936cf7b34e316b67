"""Short inference calls of one module, counted instead of recorded one by one."""

from __future__ import annotations

SHORT_NS = 200_000  # inference calls shorter than this are counted in bursts
BURST_NS = 2_000_000  # a burst lasts about so long


class Burst:
    """Short inference calls of one module: one record per burst with the number of calls.

    A record costs a microsecond, too much beside a call of ten. Inside a burst a call costs one
    decrement; the count stays exact and the duration is the burst's average.
    """

    __slots__ = ("_in_a_row", "left", "pointer", "size", "start_ns")

    def __init__(self) -> None:
        self.pointer = 0
        self.left = 0  # calls of the burst that are still to come
        self.size = 0  # calls of the burst in all; 0 when none is under way
        self.start_ns = 0
        self._in_a_row = 0

    def begins(self, pointer: int, start_ns: int, end_ns: int) -> bool:
        """After a call of a program that does not train: does it open a burst, so that it needs no record?"""
        if end_ns - start_ns > SHORT_NS or pointer != self.pointer:
            self.pointer, self._in_a_row = pointer, 0
            return False
        self._in_a_row += 1
        if self._in_a_row < 32:
            return False
        self.size = max(BURST_NS // max(end_ns - start_ns, 1_000), 2)
        self.left = self.size - 1
        self.start_ns = start_ns
        return True
