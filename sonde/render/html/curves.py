"""Memory and counters → curves of the page, with what was held at the peak."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.memory.timeline import Peak, asking_ops, highest, levels
from sonde.columns import Array, Table
from sonde.render.html.limits import Limits
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

PEAK_ROWS = 200


def add_curves(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> None:
    """Put memory curves, counters and the peaks' holders into the payload."""
    memory, marks, threads = (recording.table(n) for n in ("memory", "marks", "threads"))
    found = levels(memory, marks, threads=threads)
    strings = payload.strings
    columns: dict[str, list[Array]] = {n: [] for n in ("time", "process", "device", "window", "allocated")}
    reserved: list[Array] = []
    points = max(50, limits.curve_points // max(1, len(found)))
    told: dict[tuple[int, str], tuple[Array, Array, Array]] = {}
    for peak in highest(found):
        if peak.device != "cpu":  # the CPU's own running total begins with the profiler, so it says nothing
            rows = _told(memory, threads, peak)
            if len(rows[0]):
                told[peak.process, peak.device] = rows
    curves = [(k, 0, *rows) for k, rows in told.items()]
    for level in found:
        key = (level.peak.process, level.peak.device)
        if key not in told:
            unknown = np.full(len(level.times), -1, np.int64)
            curves.append((key, level.window, level.times, level.bytes, unknown))
    for (process, device), window, times, total, held in curves:
        picked = _outline(total, points)
        columns["time"].append(times[picked] - origin_ns)
        columns["allocated"].append(total[picked])
        reserved.append(held[picked])
        for name, value in (("process", process), ("device", strings(device)), ("window", window)):
            columns[name].append(np.full(len(picked), value, np.int64))
    payload.add("memory", **{n: _joined(v) for n, v in columns.items()}, reserved=_joined(reserved))
    payload.facts["peaks"] = [
        _peak(peak, told.get((peak.process, peak.device)), recording.table("ops"), origin_ns, payload)
        for peak in highest(found)
    ]
    _add_counters(payload, recording, limits, origin_ns)


def _told(memory: Table, threads: Table, peak: Peak) -> tuple[Array, Array, Array]:
    """Time, allocated and reserved bytes as the device's allocator itself gave them."""
    at = rows_of(threads.array("thread"), memory.array("thread"))
    process = np.where(at >= 0, np.append(threads.array("process"), 0)[at], 0)
    mine = memory.text("device").equals(peak.device) & (process == peak.process)
    rows = memory.take(np.flatnonzero(mine & (memory.array("allocated_bytes") >= 0)))
    rows = rows.take(np.argsort(rows.array("time_ns"), kind="stable"))
    return rows.array("time_ns"), rows.array("allocated_bytes"), rows.array("reserved_bytes")


def _outline(values: Array, points: int) -> Array:
    """Row numbers that keep the first, lowest, highest and last of each stretch."""
    if len(values) <= points:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), points // 4 + 1).astype(np.int64)
    picked: set[int] = set()
    for low, high in itertools.pairwise(edges):
        part = values[low:high]
        picked.update((int(low), int(high) - 1, int(low + part.argmin()), int(low + part.argmax())))
    return np.array(sorted(picked), np.int64)


def _peak(
    peak: Peak, told: tuple[Array, Array, Array] | None, ops: Table, origin_ns: int, payload: Payload
) -> dict[str, Any]:
    """When use was highest, and which blocks were alive then, largest first, by operator, module and category."""
    strings = payload.strings
    time_ns, held = peak.time_ns, peak.total_bytes
    if told is not None:
        top = int(told[1].argmax())
        time_ns, held = int(told[0][top]), int(told[1][top])
    rows = asking_ops(peak, ops).tolist()
    alive = peak.alive
    groups: dict[tuple[str, str, str], list[int]] = {}
    for row, size, category, older in zip(
        rows,
        alive.array("bytes").tolist(),
        alive.text("category").tolist(),
        alive.array("older").tolist(),
        strict=True,
    ):
        nobody = "(before the window)" if older else "(outside any operator)"
        name = (ops.text("name")[row] if row >= 0 else None) or nobody
        module = (ops.text("module")[row] if row >= 0 else None) or ""
        entry = groups.setdefault((name, module, category or "unknown"), [0, 0])
        entry[0] += size
        entry[1] += 1
    seen = dict(peak.by_category)
    for (_, _, category), (size, _) in groups.items():
        seen[category] -= size
    for category, size in seen.items():  # what lives through the whole window has no event
        if size > 0:
            groups.setdefault(("(before the window)", "", category), [0, 0])[0] += size
    largest = sorted(groups.items(), key=lambda item: -item[1][0])[:PEAK_ROWS]
    return {
        "process": peak.process,
        "device": strings.values[strings(peak.device)],
        "time": time_ns - origin_ns,
        "bytes": held,
        "known": peak.total_bytes,
        "blocks": len(alive),
        "rows": [
            [strings(name), strings(module), strings(category), size, blocks]
            for (name, module, category), (size, blocks) in largest
        ],
    }


def _add_counters(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> None:
    counters = recording.table("counters")
    names = counters.text("name")
    parts: list[Array] = []
    pairs: Array = np.unique(np.stack([names.codes, counters.array("process")]), axis=1).T
    points = max(50, limits.curve_points * 20 // max(20, len(pairs)))
    for code, process in pairs:
        rows = np.flatnonzero((names.codes == code) & (counters.array("process") == process))
        rows = rows[np.argsort(counters.array("time_ns")[rows], kind="stable")]
        parts.append(rows[_outline(counters.array("value")[rows], points)])
    picked = _joined(parts).astype(np.int64)
    payload.add(
        "counters",
        time=counters.array("time_ns")[picked] - origin_ns,
        process=counters.array("process")[picked].astype(np.int64),
        name=payload.strings.column(names.take(picked)),
        value=counters.array("value")[picked],
    )


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
