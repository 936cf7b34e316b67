"""What every benchmark writes beside its figures: when, where, with which versions; and where to.

Results are dated files in benchmarks/results; none is ever overwritten.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sonde.record.surroundings import machine_facts

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    *("torch", "numpy", "duckdb", "py-spy", "scalene", "austin-dist", "HolisticTraceAnalysis"),
    *("orjson", "msgspec", "pysimdjson"),
)


def facts() -> dict[str, Any]:
    """Machine, load and versions at this moment."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "versions": versions,
    }


def write(name: str, result: dict[str, Any]) -> Path:
    """Write `result` with the facts; returns the file."""
    RESULTS.mkdir(exist_ok=True)
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H%M%S")
    path = RESULTS / f"{name}-{stamp}.json"
    path.write_text(json.dumps({**facts(), **result}, indent=1) + "\n", encoding="utf-8")
    return path
