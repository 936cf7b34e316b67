"""An independent, slow reading of a trace: plain `json`, exact decimals, dictionaries.

Shares nothing with the reader under test but the list of categories.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.environments import data_folder

TABLE_OF_CATEGORY = {
    **dict.fromkeys(("Operator", "cpu_op", "user_annotation", "python_function"), "ops"),
    **dict.fromkeys(("Runtime", "cuda_runtime", "cuda_driver", "mtia_runtime"), "launches"),
    **dict.fromkeys(("Kernel", "Memcpy", "Memset", "kernel", "gpu_memcpy", "gpu_memset"), "kernels"),
    **dict.fromkeys(
        ("cuda_sync", "gpu_user_annotation", "mtia_ccp_events", "cuda_profiler_range"), "kernels"
    ),
}


def trace_folder() -> Path:
    folder = data_folder()
    if folder is None:
        pytest.skip("no folder of real traces (SONDE_DATA)", allow_module_level=True)
    return folder / "traces"


@dataclass
class Totals:
    """By table and name: how often, and the sum of durations and of starts, in nanoseconds."""

    count: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    duration_ns: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    start_ns: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    memory_events: int = 0
    memory_bytes: int = 0


def load(path: Path) -> Any:
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return json.loads(raw.decode("utf-8-sig"), parse_float=Decimal)


def nanoseconds(value: Any) -> int:
    """Microseconds → nanoseconds, exactly."""
    return int((Decimal(value) * 1000).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def totals(path: Path) -> Totals:
    """What the tables must add up to."""
    document = load(path)
    events = document if isinstance(document, list) else document["traceEvents"]
    base = 0 if isinstance(document, list) else int(document.get("baseTimeNanoseconds", 0))
    found = Totals()
    for event in events:
        if event.get("ph") == "i" and event.get("name") == "[memory]":
            found.memory_events += 1
            found.memory_bytes += event["args"]["Bytes"]
        if event.get("ph") != "X":
            continue
        key = (TABLE_OF_CATEGORY.get(event.get("cat"), "marks"), str(event["name"]))
        found.count[key] += 1
        found.duration_ns[key] += nanoseconds(event["dur"])
        found.start_ns[key] += base + nanoseconds(event["ts"])
    return found
