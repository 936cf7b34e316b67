"""MXNet's aggregate statistics, `profiler.dumps()`: the printed table or its JSON → rows.

It has counts and times per operator, no moments in time; so the recording has no tables,
its rows are in `meta.details["aggregate"]`, and `losses` says what is missing.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sonde.errors import InputError
from sonde.ingest.plain_bytes import read_whole
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.version import __version__

_HEADER = b"Profile Statistics:"
_ROW = re.compile(r"(\S.{0,500}?)\s{1,200}(\d{1,15})((?:\s{1,100}[0-9.]{1,40}){3,4})\s*$")


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
    why = "aggregate statistics tell how often and how long, not when: import the trace for that"
    missing = loss_table([Loss(-1, "no_times", len(rows), "rows", why)])
    details = {"aggregate": [asdict(row) for row in rows]}
    meta = Meta(sonde_version=__version__, source="mxnet-aggregate", program=path.name, details=details)
    return Recording(meta, {"losses": missing}, path)


def aggregate_rows(path: Path) -> list[AggregateRow]:
    """All rows, in the order of the file."""
    text = read_whole(path).decode("utf-8", "replace")
    rows = _from_json(path, text) if text.lstrip().startswith("{") else _from_table(text)
    if not rows:
        raise InputError(f"{path} holds no MXNet statistics", "set aggregate_stats=True and save dumps()")
    return rows


def _from_json(path: Path, text: str) -> list[AggregateRow]:
    try:
        data = json.loads(text)
        return [
            AggregateRow(
                group,
                name,
                int(f["Count"]),
                _finite(f.get("Total", -1)),
                *(_finite(f[k]) for k in ("Min", "Max", "Avg")),
            )
            for section in ("Time", "Memory")
            for group, members in data.get(section, {}).items()
            for name, f in members.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is not MXNet's aggregate JSON: {error!r}") from None


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number of milliseconds")
    return number


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
            try:
                figures = [_finite(f) for f in found[3].split()]
            except ValueError:  # 1.2.3 is no number
                continue
            total = figures[0] if len(figures) == 4 else -1.0
            rows.append(AggregateRow(group, found[1], int(found[2]), total, *figures[-3:]))
    return rows
