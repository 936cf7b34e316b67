"""Memory over time: running totals, the peak and what was alive at it.

In: `memory` (allocations and frees), `marks`, `threads`. Out: tables and figures per process and device.
Blocks are allocations paired with their free by address, inside one window: what happens between
windows is not seen, so a block that is alive when its window ends, ends there, and a free
without an allocation tells of a block that was there when the window began. Blocks that
live through the whole window leave no event; what is known of them (parameters, gradients,
optimizer state) comes with the marks of kind "tensors" and is counted as the base.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import nearest
from sonde.analyze.memory.categories import KnownTensors, categorise, known_tensors
from sonde.columns import Array, Table

OPEN_NS = np.iinfo(np.int64).max  # end of a block that was never freed
# Operators that only get memory for the one around them.
ALLOCATING = (
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::empty_permuted",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize_",
    "aten::set_",
)


@dataclass(frozen=True)
class Peak:
    """The most that was in use on one device of one process, of what the windows saw."""

    device: str
    time_ns: int
    bytes: int  # in blocks that the window saw and that were alive at that time
    base_bytes: int  # in blocks that are older than the window and outlive it
    by_category: dict[str, int]
    alive: Table  # blocks alive at the peak, largest first
    process: int = 0

    @property
    def total_bytes(self) -> int:
        return self.bytes + self.base_bytes


def blocks(memory: Table, marks: Table | None = None, threads: Table | None = None) -> Table:
    """Blocks by begin: process, device, address, bytes, start_ns, end_ns, op, thread, window, older.

    `older`: it was there when its window began. `op` is -1 for such a block.
    """
    process, window, begin, end = _windows(memory, marks, threads)
    devices = memory.text("device")
    order = np.lexsort((memory.array("time_ns"), memory.array("address"), devices.codes, window, process))
    same = np.ones(len(order), np.bool_)
    for column in (process, window, devices.codes, memory.array("address")):
        same[1:] &= column[order][1:] == column[order][:-1]
    same[:1] = False
    size, time_ns = memory.array("bytes")[order], memory.array("time_ns")[order]
    is_alloc = size > 0
    # The free of a block is the next event at its address; a free that follows no allocation is of an older one.
    closes = np.append(same[1:] & ~is_alloc[1:], False) & is_alloc
    stop = end[order].copy()
    stop[:-1][closes[:-1]] = time_ns[1:][closes[:-1]]
    older = ~is_alloc & (size < 0) & ~np.append(False, closes[:-1])
    chosen = np.flatnonzero(is_alloc | older)
    start = np.where(is_alloc, time_ns, begin[order])[chosen]
    stop = np.where(is_alloc, stop, time_ns)[chosen]
    by_time = np.argsort(start, kind="stable")
    chosen, start, stop = chosen[by_time], start[by_time], stop[by_time]
    rows = order[chosen]
    return Table(
        "blocks",
        {
            "process": process[rows],
            "device": devices.take(rows),
            "address": memory.array("address")[rows],
            "bytes": np.abs(memory.array("bytes")[rows]),
            "start_ns": start,
            "end_ns": stop,
            "op": np.where(older[chosen], -1, memory.array("op")[rows]),
            "thread": memory.array("thread")[rows],
            "window": window[rows],
            "older": older[chosen],
        },
    )


def running_total(found: Table, device: str) -> tuple[Array, Array]:
    """Times at which the total on `device` changes, and the total of blocks alive from then on."""
    mine = found.take(found.text("device").equals(device))
    freed = mine.array("end_ns") < OPEN_NS
    times = np.concatenate([mine.array("start_ns"), mine.array("end_ns")[freed]])
    change = np.concatenate([mine.array("bytes"), -mine.array("bytes")[freed]])
    # A free and an allocation at one moment: the free first, or the peak would count both.
    order = np.lexsort((change, times))
    return times[order], np.cumsum(change[order])


@dataclass(frozen=True)
class Level:
    """What one device of one process held over one window, older blocks included, and its peak."""

    window: int
    times: Array
    bytes: Array
    peak: Peak


def levels(
    memory: Table, marks: Table, known: list[KnownTensors] | None = None, threads: Table | None = None
) -> list[Level]:
    """By process, device and window. Nothing is carried from one window to the next: what happens between is unseen."""
    known = known if known is not None else known_tensors(marks)
    found = blocks(memory, marks, threads)
    found = found.with_columns(category=categorise(found, marks, known))
    result = []
    for process in np.unique(found.array("process")).tolist():
        mine = found.take(found.array("process") == process)
        held = [k for k in known if k.process == process]
        for device in sorted({d for d in mine.text("device").tolist() if d}):
            ours = mine.take(mine.text("device").equals(device))
            for window in np.unique(ours.array("window")).tolist():
                here = ours.take(ours.array("window") == window)
                peak = _peak(process, device, here, held if device == "cpu" else [])
                times, total = _steps_of(here, device)
                result.append(Level(window, times, total + peak.base_bytes, peak))
    return result


def _steps_of(found: Table, device: str) -> tuple[Array, Array]:
    """The running total at each moment of one window; blocks that its end cuts off stay to the end."""
    end = found.array("end_ns")
    times, total = running_total(found.with_columns(end_ns=np.where(end == end.max(), OPEN_NS, end)), device)
    last = np.append(times[1:] != times[:-1], True)
    return times[last], total[last]


def peaks(
    memory: Table, marks: Table, known: list[KnownTensors] | None = None, threads: Table | None = None
) -> list[Peak]:
    """The peak of every process and device that has allocations, with what was alive at it."""
    return highest(levels(memory, marks, known, threads))


def highest(found: list[Level]) -> list[Peak]:
    """Of each process and device the window that held most."""
    best: dict[tuple[int, str], Peak] = {}
    for level in found:
        at = (level.peak.process, level.peak.device)
        if at not in best or level.peak.total_bytes > best[at].total_bytes:
            best[at] = level.peak
    return list(best.values())


def asking_ops(peak: Peak, ops: Table) -> Array:
    """For each block alive at the peak the row in `ops` that asked for it, -1 when none."""
    return _beyond_allocation(rows_of(ops.array("op"), peak.alive.array("op")), ops)


def alive_by(peak: Peak, ops: Table, by: str) -> list[tuple[str, int, int]]:
    """(group, bytes, blocks) of what was alive at the peak, by op name, module or line."""
    at = rows_of(ops.array("op"), peak.alive.array("op"))
    if by == "op":
        at = _beyond_allocation(at, ops)
    groups: dict[str, list[int]] = {}
    column = ops.text({"op": "name", "module": "module", "line": "file"}[by])
    lines = ops.array("line")
    older = peak.alive.array("older").tolist()
    for row, size, old in zip(at.tolist(), peak.alive.array("bytes").tolist(), older, strict=True):
        name = column[row] if row >= 0 else None
        if name is not None and by == "line":
            name = f"{name}:{lines[row]}"
        groups.setdefault(name or ("(before the window)" if old else "(none)"), []).append(size)
    rows = [(name, sum(sizes), len(sizes)) for name, sizes in groups.items()]
    return sorted(rows, key=lambda row: -row[1])


def _beyond_allocation(at: Array, ops: Table) -> Array:
    """The operator that asked for memory, where the innermost one does nothing but get it."""
    parent = rows_of(ops.array("op"), ops.array("parent"))
    gets = ops.text("name").matches(ALLOCATING)
    return np.append(nearest(parent, ~gets | (parent < 0)), -1)[at]


def _peak(process: int, device: str, found: Table, known: list[KnownTensors]) -> Peak:
    """The peak of one window."""
    times, total = running_total(found, device)
    top = int(np.argmax(total))
    time_ns = int(times[top])
    alive = (found.array("start_ns") <= time_ns) & (found.array("end_ns") > time_ns)
    at_peak = found.take(np.flatnonzero(alive))
    at_peak = at_peak.take(np.argsort(-at_peak.array("bytes"), kind="stable"))
    shares: dict[str, int] = {}
    for name, size in zip(at_peak.text("category").tolist(), at_peak.array("bytes").tolist(), strict=True):
        shares[name or "unknown"] = shares.get(name or "unknown", 0) + size
    base = _base(found, known)
    for name, size in base.items():
        shares[name] = shares.get(name, 0) + size
    return Peak(device, time_ns, int(total[top]), sum(base.values()), shares, at_peak, process)


def _base(found: Table, known: list[KnownTensors]) -> dict[str, int]:
    """Bytes of known tensors of this window that no event of it speaks of: they live all through it."""
    if not known:
        return {}
    first, last = int(found.array("start_ns").min()), int(found.array("end_ns").max())
    inside = [k for k in known if first <= k.time_ns <= last]
    listing = inside[-1] if inside else known[-1]
    seen = np.isin(listing.address, found.array("address"))
    result: dict[str, int] = {}
    for row in np.flatnonzero(~seen).tolist():
        name = listing.category[row]
        result[name] = result.get(name, 0) + int(listing.bytes[row])
    return result


def _windows(memory: Table, marks: Table | None, threads: Table | None) -> tuple[Array, Array, Array, Array]:
    """Process, window (by number, 0 when there are no marks), its begin and its end, for each event."""
    time_ns = memory.array("time_ns")
    process = np.zeros(len(memory), np.int64)
    if threads is not None and len(threads):
        at = rows_of(threads.array("thread"), memory.array("thread"))
        process = np.where(at >= 0, threads.array("process")[np.maximum(at, 0)], 0).astype(np.int64)
    window = np.zeros(len(memory), np.int64)
    begin = np.full(len(memory), int(time_ns.min()) if len(time_ns) else 0, np.int64)
    end = np.full(len(memory), OPEN_NS, np.int64)
    windows = marks.take(marks.text("kind").equals("window")) if marks is not None else None
    if windows is None or not len(windows):
        return process, window, begin, end
    for number in np.unique(windows.array("process")).tolist():
        mine = np.flatnonzero(process == number)
        rows = windows.take(windows.array("process") == number)
        start = np.sort(rows.array("start_ns"))
        stop = rows.array("end_ns")[np.argsort(rows.array("start_ns"), kind="stable")]
        # An event at a window's edge belongs to the window that began last.
        at = np.maximum(np.searchsorted(start, time_ns[mine], side="right") - 1, 0)
        window[mine], begin[mine] = at, np.minimum(start[at], time_ns[mine])
        end[mine] = np.maximum(stop[at], time_ns[mine])
    return process, window, begin, end
