"""Memory over time: running totals, the peak and what was alive at it, growth from step to step.

In: `memory` (allocations and frees), `ops`, `marks`, `counters`. Out: tables and figures per
device. Blocks are allocations paired with their free by address. Blocks that are older
than the windows are not in `memory`; what is known of them (parameters, optimizer
state) comes with the marks of kind "tensors" and is counted as the base.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.join import rows_of
from sonde.columns import Array, Table, Text

OPEN_NS = np.iinfo(np.int64).max  # end of a block that was never freed
CATEGORIES = ("parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "unknown")


@dataclass(frozen=True)
class Peak:
    """The most that was in use on one device, of what the windows saw."""

    device: str
    time_ns: int
    bytes: int  # allocated inside the windows and alive at that time
    base_bytes: int  # parameters and optimizer state that are older than the window
    by_category: dict[str, int]
    alive: Table  # blocks alive at the peak, largest first


@dataclass(frozen=True)
class Growth:
    """Bytes per step, as the median of all slopes between two steps, with a 95 % interval."""

    name: str
    steps: int
    slope_bytes: float
    low_bytes: float
    high_bytes: float

    @property
    def grows(self) -> bool:
        """The whole interval lies above zero."""
        return self.low_bytes > 0


@dataclass(frozen=True)
class KnownTensors:
    """Addresses of parameters, gradients and optimizer state at one moment of a window."""

    time_ns: int
    address: Array
    bytes: Array
    category: list[str] = field(default_factory=list)


def blocks(memory: Table) -> Table:
    """Allocations with their end: device, address, bytes, start_ns, end_ns, op, thread."""
    devices = memory.text("device")
    order = np.lexsort((memory.array("time_ns"), memory.array("address"), devices.codes))
    address, size = memory.array("address")[order], memory.array("bytes")[order]
    device = devices.codes[order]
    is_alloc = size > 0
    # The free of a block is the next event at its address on its device.
    follows = np.zeros(len(order), np.bool_)
    follows[:-1] = (address[1:] == address[:-1]) & (device[1:] == device[:-1]) & ~is_alloc[1:]
    time_ns = memory.array("time_ns")[order]
    end = np.full(len(order), OPEN_NS, np.int64)
    end[:-1][follows[:-1]] = time_ns[1:][follows[:-1]]
    chosen = np.flatnonzero(is_alloc)
    rows = order[chosen]
    by_time = np.argsort(time_ns[chosen], kind="stable")
    chosen, rows = chosen[by_time], rows[by_time]
    return Table(
        "blocks",
        {
            "device": devices.take(rows),
            "address": memory.array("address")[rows],
            "bytes": memory.array("bytes")[rows],
            "start_ns": memory.array("time_ns")[rows],
            "end_ns": end[chosen],
            "op": memory.array("op")[rows],
            "thread": memory.array("thread")[rows],
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


def categorise(found: Table, marks: Table, known: list[KnownTensors]) -> Text:
    """What each block is for: by address where the program's tensors are known, else by its life.

    A block of the forward pass that lives into the backward pass is an activation; one that a DataLoader
    made is input; one that dies in the phase (or inference) that made it is temporary.
    """
    start, end = found.array("start_ns"), found.array("end_ns")
    index = {name: i for i, name in enumerate(CATEGORIES)}
    codes = np.full(len(found), index["unknown"], np.int32)
    phases = marks.take(marks.text("kind").equals("phase"))
    phases = phases.take(np.argsort(phases.array("start_ns"), kind="stable"))
    born, born_end = _phase_at(phases, start)
    names = [*phases.text("name").values, ""]
    made_in = np.array(names, dtype=object)[born]
    lived_on = end > born_end
    codes[~lived_on] = index["temporary"]
    codes[lived_on & (made_in == "forward")] = index["activation"]
    codes[np.char.startswith(made_in.astype(str), "dataloader")] = index["input"]
    codes[lived_on & (made_in == "backward")] = index["gradient"]
    codes[lived_on & (made_in == "optimizer")] = index["optimizer_state"]
    for tensors in known:
        alive = np.flatnonzero((start <= tensors.time_ns) & (end > tensors.time_ns))
        at = rows_of(tensors.address, found.array("address")[alive])
        hit = at >= 0
        codes[alive[hit]] = [index.get(tensors.category[i], index["unknown"]) for i in at[hit].tolist()]
    return Text(codes, list(CATEGORIES))


def peaks(memory: Table, marks: Table, known: list[KnownTensors] | None = None) -> list[Peak]:
    """The peak of every device that has allocations, with what was alive at it."""
    known = known if known is not None else known_tensors(marks)
    found = blocks(memory)
    found = found.with_columns(category=categorise(found, marks, known))
    result = []
    for device in sorted({d for d in found.text("device").tolist() if d}):
        times, total = running_total(found, device)
        if not len(total):
            continue
        top = int(np.argmax(total))
        time_ns = int(times[top])
        alive = (
            found.text("device").equals(device)
            & (found.array("start_ns") <= time_ns)
            & (found.array("end_ns") > time_ns)
        )
        at_peak = found.take(np.flatnonzero(alive))
        at_peak = at_peak.take(np.argsort(-at_peak.array("bytes"), kind="stable"))
        shares: dict[str, int] = {}
        for name, size in zip(
            at_peak.text("category").tolist(), at_peak.array("bytes").tolist(), strict=True
        ):
            shares[name or "unknown"] = shares.get(name or "unknown", 0) + size
        base = _base(found, known) if device == "cpu" else {}
        for name, size in base.items():
            shares[name] = shares.get(name, 0) + size
        result.append(Peak(device, time_ns, int(total[top]), sum(base.values()), shares, at_peak))
    return result


def alive_by(peak: Peak, ops: Table, by: str) -> list[tuple[str, int, int]]:
    """(group, bytes, blocks) of what was alive at the peak, by op name, module or line."""
    at = rows_of(ops.array("op"), peak.alive.array("op"))
    groups: dict[str, list[int]] = {}
    column = ops.text({"op": "name", "module": "module", "line": "file"}[by])
    lines = ops.array("line")
    for row, size in zip(at.tolist(), peak.alive.array("bytes").tolist(), strict=True):
        name = column[row] if row >= 0 else None
        if name is not None and by == "line":
            name = f"{name}:{lines[row]}"
        groups.setdefault(name or "(none)", []).append(size)
    rows = [(name, sum(sizes), len(sizes)) for name, sizes in groups.items()]
    return sorted(rows, key=lambda row: -row[1])


def growth(name: str, values: Array) -> Growth | None:
    """Theil–Sen slope per step with Sen's interval; None with fewer than five steps.

    A step's value is its total at the end. The median of all pairwise slopes ignores single outliers.
    """
    count = len(values)
    if count < 5:
        return None
    # Pairs grow with the square of the steps; four hundred of them tell the same.
    chosen = np.unique(np.linspace(0, count - 1, min(count, 400)).astype(np.int64))
    picked = values[chosen].astype(np.float64)
    first, second = np.triu_indices(len(chosen), 1)
    slopes = np.sort((picked[second] - picked[first]) / (chosen[second] - chosen[first]))
    n = len(chosen)
    reach = 1.96 * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = int(np.clip((len(slopes) - reach) / 2, 0, len(slopes) - 1))
    high = int(np.clip((len(slopes) + reach) / 2, 0, len(slopes) - 1))
    return Growth(name, count, float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def counter_growth(counters: Table, marks: Table, process: int, name: str = "rss_bytes") -> Growth | None:
    """Growth of a counter over the steps of one process: the last reading before each step's end."""
    steps = marks.take(marks.text("kind").equals("step") & (marks.array("process") == process))
    mine = counters.take(counters.text("name").equals(name) & (counters.array("process") == process))
    if not len(mine) or not len(steps):
        return None
    order = np.argsort(mine.array("time_ns"), kind="stable")
    times, values = mine.array("time_ns")[order], mine.array("value")[order]
    ends = np.sort(steps.array("end_ns"))
    at = np.searchsorted(times, ends, side="right") - 1
    return growth(name, values[at[at >= 0]])


def known_tensors(marks: Table) -> list[KnownTensors]:
    """The tensors that the program's optimizers hold, as marks of kind "tensors" give them."""
    result = []
    rows = np.flatnonzero(marks.text("kind").equals("tensors"))
    for row in rows.tolist():
        groups = json.loads(marks.text("extra")[row] or "{}")
        address, size, category = [], [], []
        for name in ("parameter", "gradient", "optimizer_state"):
            for pointer, count in groups.get(name, []):
                address.append(pointer)
                size.append(count)
                category.append(name)
        result.append(
            KnownTensors(
                int(marks.array("start_ns")[row]),
                np.array(address, np.int64),
                np.array(size, np.int64),
                category,
            )
        )
    return result


def _base(found: Table, known: list[KnownTensors]) -> dict[str, int]:
    """Bytes of known tensors whose block is not among those seen: they are older than the window."""
    if not known:
        return {}
    last = known[-1]
    seen = np.isin(last.address, found.array("address"))
    result: dict[str, int] = {}
    for row in np.flatnonzero(~seen).tolist():
        result[last.category[row]] = result.get(last.category[row], 0) + int(last.bytes[row])
    return result


def _phase_at(phases: Table, time_ns: Array) -> tuple[Array, Array]:
    """Code of the phase's name that holds each moment (-1 when none), and that phase's end."""
    start, end = phases.array("start_ns"), phases.array("end_ns")
    code = np.full(len(time_ns), -1, np.int64)
    until = np.full(len(time_ns), 0, np.int64)
    if not len(phases):
        return code, until
    at = np.searchsorted(start, time_ns, side="right") - 1
    # Phases may nest; look back over a few starts for the innermost that still runs.
    for back in range(4):
        row = np.maximum(at - back, 0)
        hit = (code < 0) & (at - back >= 0) & (end[row] > time_ns)
        code[hit] = phases.text("name").codes[row[hit]]
        until[hit] = end[row[hit]]
    return code, until
