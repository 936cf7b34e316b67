"""What lies at an address at a moment: JIT code, mapped files and modules come and go.

Agents see a change a little after it happened, so a question about a time before the first
record of an address is answered by that first record.

`boundaries` are the moments at which an address changed its meaning. Between two of them every
answer is the same, so stacks need to be told apart by the number of boundaries before a sample (its
epoch), and only where a stack touches such an address at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.ingest.agent.log import U64, RawJit, RawMappings, RawModules

BEFORE_ALL = -1


@dataclass(frozen=True)
class Range:
    """Addresses start ≤ a < end have meaning `row` from `time_ns` on."""

    start: int
    end: int
    time_ns: int
    row: int
    name: str  # what it means: a change of name at the same address is a boundary
    weak: bool = False  # an unnamed region: gives way to anything named


class AddressTimeline:
    """Ranges of addresses over time."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = sorted(ranges, key=lambda r: (r.start, r.time_ns))
        self._starts = [r.start for r in self._ranges]
        self._furthest: list[int] = []  # largest end among ranges[0..i]: tells when to stop looking back
        furthest = 0
        for one in self._ranges:
            furthest = max(furthest, one.end)
            self._furthest.append(furthest)
        self._changed = self._changes()
        self.boundaries = sorted({time for _, _, time in self._changed})

    def at(self, address: int, time_ns: int) -> int | None:
        """The row that holds `address` at `time_ns`."""
        best: Range | None = None
        for one in self._covering(address):
            if best is None or _rank(one, time_ns) < _rank(best, time_ns):
                best = one
        return best.row if best else None

    def ambiguous(self, addresses: U64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which addresses changed their meaning during the run."""
        result = np.zeros(len(addresses), np.bool_)
        for start, end, _ in self._changed:
            result |= (addresses >= np.uint64(start)) & (addresses < np.uint64(end))
        return result

    def _covering(self, address: int) -> list[Range]:
        found = []
        i = bisect_right(self._starts, address) - 1
        while i >= 0 and self._furthest[i] > address:
            if self._ranges[i].end > address:
                found.append(self._ranges[i])
            i -= 1
        return found

    def _changes(self) -> list[tuple[int, int, int]]:
        """Overlaps with a different meaning: start, end, moment of the later one."""
        changes = []
        for i, one in enumerate(self._ranges):
            j = i + 1
            while j < len(self._ranges) and self._ranges[j].start < one.end:
                other = self._ranges[j]
                if other.name != one.name and other.time_ns != one.time_ns and one.weak == other.weak:
                    changes.append((other.start, min(one.end, other.end), max(one.time_ns, other.time_ns)))
                j += 1
        return changes


def _rank(one: Range, time_ns: int) -> tuple[bool, bool, int, int]:
    """Named before unnamed, known by then before known later, the closest in time, the smallest."""
    return (one.weak, one.time_ns > time_ns, abs(one.time_ns - time_ns), one.end - one.start)


class PointerTimeline:
    """Names of objects at exact addresses over time."""

    def __init__(self, modules: RawModules) -> None:
        self._names: dict[int, tuple[list[int], list[str]]] = {}
        for pointer, time_ns, path in zip(
            modules.pointer.tolist(), modules.time_ns.tolist(), modules.path.tolist(), strict=True
        ):
            times, names = self._names.setdefault(pointer, ([], []))
            # Several names at one moment are paths of a shared module: the first one stands.
            if path and (not times or (times[-1] < time_ns and names[-1] != path)):
                times.append(time_ns)
                names.append(path)
        self.boundaries = sorted({t for times, _ in self._names.values() for t in times[1:]})
        self._changing = [p for p, (times, _) in self._names.items() if len(times) > 1]

    def at(self, pointer: int, time_ns: int) -> str | None:
        found = self._names.get(pointer)
        if not found or not found[0]:
            return None
        return found[1][max(bisect_right(found[0], time_ns) - 1, 0)]

    def ambiguous(self, pointers: U64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.isin(pointers, np.array(self._changing, np.uint64))


def of_mappings(mappings: RawMappings) -> AddressTimeline:
    columns = (mappings.start, mappings.end, mappings.from_ns)
    rows = zip(
        *(c.tolist() for c in columns), mappings.path.tolist(), mappings.build_id.tolist(), strict=True
    )
    return AddressTimeline(
        [Range(s, e, t, row, f"{path} {build}") for row, (s, e, t, path, build) in enumerate(rows)]
    )


def of_jit(jit: RawJit) -> AddressTimeline:
    rows = zip(
        jit.start.tolist(),
        jit.size.tolist(),
        jit.time_ns.tolist(),
        jit.name.tolist(),
        jit.source.tolist(),
        strict=True,
    )
    return AddressTimeline(
        [
            Range(start, start + max(size, 1), t, row, name or "", source == "region")
            for row, (start, size, t, name, source) in enumerate(rows)
        ]
    )
