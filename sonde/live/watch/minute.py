"""What is kept of a minute for ever: one line of JSON of at most 20 kB.

Enters: the picture of the minute. Leaves: its figures and longest rows, as many as fit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sonde.live.picture import Picture, Row

MOST_BYTES = 20_000
ROWS = 20  # of each kind, to begin with
LONGEST_NAME = 160


@dataclass(frozen=True)
class Minute:
    """`picture` is of the time from `from_ns` to `until_ns` since the epoch."""

    from_ns: int
    until_ns: int
    picture: Picture
    own_cpu_s: dict[str, float]  # CPU time of Sonde's own in it: `watch`, and the threads of the agents
    saved: int  # recordings so far
    unwritten: int  # minutes and recordings that could not be written


def line(minute: Minute) -> str:
    """As written to minutes.jsonl, without the newline."""
    for rows in range(ROWS, -1, -1):
        text = json.dumps(_plain(minute, rows), separators=(",", ":"))
        if len(text) < MOST_BYTES:
            return text
    return json.dumps({"kind": "minute", "from_ns": minute.from_ns, "until_ns": minute.until_ns})


def _plain(minute: Minute, rows: int) -> dict[str, Any]:
    now = minute.picture
    return {
        "kind": "minute",
        "from_ns": minute.from_ns,
        "until_ns": minute.until_ns,
        "seconds": round(now.seconds, 3),
        "cpu_s": round(now.cpu_ns / 1e9, 3),
        "samples": now.samples,
        "lost_samples": now.lost_samples,
        "states": _rounded(now.states),
        "layers": _rounded(now.layers),
        "taken_share": round(now.taken_share, 4),
        "saved": minute.saved,
        "unwritten": minute.unwritten,
        "own_cpu_s": {name: round(value, 4) for name, value in minute.own_cpu_s.items()},
        "steps": [
            {
                "process": one.process,
                "kind": one.kind,
                "count": one.count,
                "last": one.last_number,
                "median_ms": round(one.median_ms, 3),
                "p90_ms": round(one.p90_ms, 3),
                "per_second": round(one.per_second, 4),
                "phases": _rounded(one.phases),
            }
            for one in now.steps[: 4 * rows]
        ],
        "processes": [
            {
                "pid": one.pid,
                "rank": one.rank,
                "role": one.role,
                "cores": round(one.cores, 3),
                "rss_bytes": one.rss_bytes,
            }
            for one in now.processes[: 4 * rows]
        ],
        "lines": _rows(now.lines, rows),
        "operators": _rows(now.operators, rows),
        "functions": _rows(now.functions, rows),
        "modules": _rows(now.modules, rows),
        "threads": _rows(now.threads, rows),
    }


def _rows(rows: list[Row], most: int) -> list[list[Any]]:
    """Name and share of the longest."""
    return [[row.name[-LONGEST_NAME:], round(row.share, 4)] for row in rows[:most]]


def _rounded(shares: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in shares.items()}
