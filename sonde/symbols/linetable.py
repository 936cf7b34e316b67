"""From an instruction of a code object to its source line, by the bytes of co_linetable.

In: the raw table as the agent copied it, the first line, the version of the
interpreter that made it (not the one that runs this). Out: a line number, or None where the
compiler gave the instruction no line.

3.10 has pairs (byte delta, signed line delta). From 3.11 on there is the location
table, whose entries also hold columns, which are skipped here. Both describe byte
offsets that ascend from 0, so a lookup is a bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

_UNIT_BYTES = 2
_NO_LINE_310 = -128

# Location table entry codes (CPython, Objects/locations.md).
_ONE_LINE_FORM_0, _ONE_LINE_FORM_2 = 10, 12
_NO_COLUMNS, _LONG, _NONE = 13, 14, 15


@dataclass(frozen=True)
class LineTable:
    """`lines[i]` holds from byte `starts[i]` to `starts[i + 1]`; the last range is closed by `end`."""

    starts: tuple[int, ...]
    lines: tuple[int | None, ...]
    end: int

    def line(self, instruction: int) -> int | None:
        """The line of the instruction at a byte offset; None outside the table or without a line."""
        if instruction < 0 or instruction >= self.end:
            return None
        return self.lines[bisect_right(self.starts, instruction) - 1]


@lru_cache(maxsize=65536)
def decode(table: bytes, first_line: int, minor: int) -> LineTable:
    """Decode co_linetable of CPython 3.`minor`. A malformed table yields what precedes the damage."""
    return _decode_310(table, first_line) if minor <= 10 else _decode_locations(table, first_line)


def line_of(table: bytes, first_line: int, instruction: int, minor: int) -> int:
    """The line to show for a frame; the function's first line when the table has no better."""
    if instruction < 0 or not table:
        return first_line
    found = decode(table, first_line, minor).line(instruction)
    return first_line if found is None else found


def _decode_310(table: bytes, first_line: int) -> LineTable:
    starts: list[int] = []
    lines: list[int | None] = []
    at, line = 0, first_line
    for i in range(0, len(table) - 1, 2):
        width, delta = table[i], table[i + 1]
        delta = delta - 256 if delta > 127 else delta
        has_line = delta != _NO_LINE_310
        if has_line:
            line += delta
        if width:
            starts.append(at)
            lines.append(line if has_line else None)
            at += width
    return LineTable(tuple(starts), tuple(lines), at)


def _decode_locations(table: bytes, first_line: int) -> LineTable:
    starts: list[int] = []
    lines: list[int | None] = []
    at, line, i, size = 0, first_line, 0, len(table)
    while i < size:
        head = table[i]
        i += 1
        code = head >> 3 & 15
        width = ((head & 7) + 1) * _UNIT_BYTES
        if code in (_NO_COLUMNS, _LONG):
            value = shift = 0
            while i < size:
                byte = table[i]
                i += 1
                value |= (byte & 63) << shift
                shift += 6
                if not byte & 64:
                    break
            line += -(value >> 1) if value & 1 else value >> 1
        elif _ONE_LINE_FORM_0 <= code <= _ONE_LINE_FORM_2:
            line += code - _ONE_LINE_FORM_0
        starts.append(at)
        lines.append(None if code == _NONE else line)
        at += width
        while i < size and not table[i] & 128:  # columns: every byte up to the next entry head
            i += 1
    return LineTable(tuple(starts), tuple(lines), at)
