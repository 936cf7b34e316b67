"""Memory and counters → curves of the page, with what was held at the peak."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sonde.columns import Array, Table
from sonde.render.html.limits import Limits
from sonde.render.html.operators import OpRows
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

PEAK_ROWS = 200


def add_curves(
    payload: Payload, recording: Recording, limits: Limits, origin_ns: int, op_rows: OpRows
) -> None:
    """Put memory curves, counters and the peaks' holders into the payload."""
    memory = recording.table("memory")
    strings = payload.strings
    times: list[Array] = []
    series: list[Array] = []
    used: list[Array] = []
    held: list[Array] = []
    peaks: list[dict[str, Any]] = []
    devices = memory.text("device")
    for device in sorted({v for v in devices.tolist() if v is not None}):
        rows = memory.take(np.flatnonzero(devices.equals(device)))
        rows = rows.take(np.argsort(rows.array("time_ns"), kind="stable"))
        total = rows.array("allocated_bytes")
        if (total < 0).all():
            total = np.cumsum(rows.array("bytes"))
        picked = _outline(total, limits.curve_points)
        times.append(rows.array("time_ns")[picked] - origin_ns)
        used.append(total[picked])
        held.append(rows.array("reserved_bytes")[picked])
        series.append(np.full(len(picked), strings(device), np.int64))
        peaks.append(_peak(rows, total, device, origin_ns, op_rows, payload))
    payload.add(
        "memory",
        time=_joined(times),
        device=_joined(series),
        allocated=_joined(used),
        reserved=_joined(held),
    )
    payload.facts["peaks"] = peaks
    _add_counters(payload, recording, limits, origin_ns)


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
    rows: Table, total: Array, device: str, origin_ns: int, op_rows: OpRows, payload: Payload
) -> dict[str, Any]:
    """When use was highest, and which blocks were alive then, largest first."""
    at = int(total.argmax())
    address, size = rows.array("address")[: at + 1], rows.array("bytes")[: at + 1]
    alive: dict[int, int] = {}
    for row in np.flatnonzero(address >= 0):
        if size[row] > 0:
            alive[int(address[row])] = int(row)
        else:
            alive.pop(int(address[row]), None)
    groups: dict[tuple[int, str], list[int]] = {}
    held = np.array(list(alive.values()), np.int64)
    pages = op_rows.find(rows.array("op")[held]) if len(held) else held
    category = rows.text("category")
    for row, page in zip(held, pages, strict=True):
        entry = groups.setdefault((int(page), category[int(row)] or "unknown"), [0, 0])
        entry[0] += int(size[row])
        entry[1] += 1
    largest = sorted(groups.items(), key=lambda item: -item[1][0])[:PEAK_ROWS]
    return {
        "device": payload.strings.values[payload.strings(device)],
        "time": int(rows.array("time_ns")[at]) - origin_ns,
        "bytes": int(total[at]),
        "known": int(sum(size[held])) if len(held) else 0,
        "blocks": len(held),
        "rows": [[page, payload.strings(name), size, blocks] for (page, name), (size, blocks) in largest],
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
