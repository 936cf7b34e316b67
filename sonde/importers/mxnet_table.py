"""MXNet's aggregate statistics, `profiler.dumps()`: the printed table or its JSON → rows.

It has counts and times per operator, no moments in time; so the recording has no tables,
its rows are in `meta.details["aggregate"]`, and `losses` says what is missing.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import sonde
from sonde.errors import InputError
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

_HEADER = b"Profile Statistics:"
_ROW = re.compile(r"(\S.*?)\s+(\d+)((?:\s+[0-9.]+){3,4})\s*$")


@dataclass(frozen=True)
class AggregateRow:
    """One line. Times are milliseconds; for "Device Storage" the figures are kilobytes and total is -1."""

    group: str  # operator, MXNET_C_API, Device Storage
    name: str
    count: int
    total: float
    minimum: float
    maximum: float
    mean: float


def sniff(head: bytes) -> bool:
    """The printed table, or the JSON with its three sections."""
    start = head.lstrip()
    return start.startswith(_HEADER) or (start[:1] == b"{" and b'"Time"' in head[:64] and b'"Count"' in head)


def read(path: Path) -> Recording:
    """The statistics in `path` as a recording without tables."""
    rows = aggregate_rows(path)
    missing = build.table(
        "losses",
        process=[-1],
        cause=["no_times"],
        count=[len(rows)],
        unit=["rows"],
        detail=["aggregate statistics tell how often and how long, not when: import the trace for that"],
    )
    details = {"aggregate": [asdict(row) for row in rows]}
    meta = Meta(sonde_version=sonde.__version__, source="mxnet-aggregate", program=path.name, details=details)
    return Recording(meta, {"losses": missing}, path)


def aggregate_rows(path: Path) -> list[AggregateRow]:
    """All rows, in the order of the file."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    rows = _from_json(path, text) if text.lstrip().startswith("{") else _from_table(text)
    if not rows:
        raise InputError(f"{path} holds no MXNet statistics", "set aggregate_stats=True and save dumps()")
    return rows


def _from_json(path: Path, text: str) -> list[AggregateRow]:
    try:
        data = json.loads(text)
        return [
            AggregateRow(
                group, name, int(f["Count"]), float(f.get("Total", -1)), f["Min"], f["Max"], f["Avg"]
            )
            for section in ("Time", "Memory")
            for group, members in data.get(section, {}).items()
            for name, f in members.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not MXNet's aggregate JSON: {error!r}") from None


def _from_table(text: str) -> list[AggregateRow]:
    rows = []
    group = ""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and lines[number + 1].startswith("====="):
            group = line.strip()
            continue
        found = _ROW.match(line)
        if found and group:
            figures = [float(f) for f in found[3].split()]
            total = figures[0] if len(figures) == 4 else -1.0
            rows.append(AggregateRow(group, found[1], int(found[2]), total, *figures[-3:]))
    return rows
