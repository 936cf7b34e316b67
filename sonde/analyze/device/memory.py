"""Memory of a device over time: what is in use, what is held, the peak and who holds it.

Enters: `memory` (allocations and frees of the framework's allocator), `ops`. Leaves: `MemoryUse` per device.
In use is the allocator's own running total where the trace has it, else the sum of the events since the
trace began (then the start is unknown and the figure is a difference: `absolute` is False).
    fragmentation at a moment = 1 − in use / reserved: the share of what the process holds of the device
    that no tensor uses; told at the peak of reserved memory, where it decides about running out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.intervals import Times
from sonde.columns import Array, Table, distinct


@dataclass(frozen=True)
class Holder:
    """Blocks alive at the peak that one operator allocated."""

    op: str
    blocks: int
    bytes: int


@dataclass(frozen=True)
class MemoryUse:
    """One device. Timelines have one point per event; bytes hold until the next point."""

    device: str
    events: int
    absolute: bool
    times: Times
    in_use: Array
    reserved: Array | None
    peak_bytes: int
    peak_ns: int
    peak_reserved_bytes: int | None
    fragmentation: float | None
    allocated_bytes: int  # sum of all allocations: the traffic of the allocator
    never_freed_bytes: int | None  # allocated in the trace and alive at its end; None without addresses
    holders: tuple[Holder, ...]


def device_memory(memory: Table, ops: Table, top: int = 10) -> list[MemoryUse]:
    """One row per device that the trace has memory events of, host memory ("cpu") included."""
    devices = memory.text("device")
    rows = []
    for code in distinct(devices.codes):
        mine = np.flatnonzero(devices.codes == code)
        mine = mine[np.argsort(memory.array("time_ns")[mine], kind="stable")]
        rows.append(_use(memory.take(mine), ops, devices.values[code] if code >= 0 else "unknown", top))
    return sorted(rows, key=lambda r: r.device)


def _use(memory: Table, ops: Table, device: str, top: int) -> MemoryUse:
    times, size = memory.array("time_ns"), memory.array("bytes")
    told, held = memory.array("allocated_bytes"), memory.array("reserved_bytes")
    absolute = bool((told >= 0).all() and (told > 0).any())
    in_use = told if absolute else np.cumsum(size)
    peak = int(np.argmax(in_use))
    reserved = held if bool((held >= 0).all() and (held > 0).any()) else None
    fragmentation = None
    if reserved is not None and absolute:
        at = int(np.argmax(reserved))
        fragmentation = 1.0 - float(in_use[at]) / float(reserved[at])
    alive, leaked = _alive(memory.array("address"), size, peak)
    return MemoryUse(
        device=device,
        events=len(memory),
        absolute=absolute,
        times=times,
        in_use=in_use,
        reserved=reserved,
        peak_bytes=int(in_use[peak]),
        peak_ns=int(times[peak]),
        peak_reserved_bytes=int(reserved.max()) if reserved is not None else None,
        fragmentation=fragmentation,
        allocated_bytes=int(size[size > 0].sum()),
        never_freed_bytes=int(size[leaked].sum()) if (memory.array("address") >= 0).any() else None,
        holders=_holders(alive, memory, ops, top),
    )


def _alive(address: Array, size: Array, peak: int) -> tuple[Array, Array]:
    """Rows of allocations alive at the row `peak`, and of those never freed. Needs addresses."""
    known = address >= 0
    rows = np.flatnonzero(known)
    # Within one address allocations and frees alternate: the next event of an address is its free.
    order = rows[np.lexsort((rows, address[rows]))]
    follows = np.full(len(address), len(address), np.int64)
    same = address[order[1:]] == address[order[:-1]]
    follows[order[:-1][same]] = order[1:][same]
    born = np.flatnonzero(known & (size > 0))
    return born[(born <= peak) & (follows[born] > peak)], born[follows[born] == len(address)]


def _holders(alive: Array, memory: Table, ops: Table, top: int) -> tuple[Holder, ...]:
    row = rows_of(ops.array("op"), memory.array("op")[alive])
    names = ops.text("name")
    code = np.full(len(alive), -1, np.int64)
    code[row >= 0] = names.codes[row[row >= 0]]
    size = memory.array("bytes")[alive]
    found = [
        Holder(names.values[int(c)] if c >= 0 else "", int((code == c).sum()), int(size[code == c].sum()))
        for c in distinct(code)
    ]
    return tuple(sorted(found, key=lambda h: -h.bytes)[:top])
