"""`sonde show REC compile`: what torch.compile cost and did: regions, graph breaks, recompiles, kernels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sonde.analyze.recording.compile_summary import compile_summary
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

TABLES = ("marks", "processes", "samples", "stacks", "frames", "kernels")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`span_ms`, `compile_ms`, `cache_hits`, `cache_misses`, `regions`, `recompiles`, `breaks`, `kernels`."""
    found = compile_summary(*(recording.table(name) for name in TABLES))
    regions = [_in_ms(asdict(r), "compile_ns") for r in found.regions]
    return {
        "span_ms": found.span_ns / 1e6,
        "compile_ms": found.compile_ns / 1e6,
        "cache_hits": sum(r.cache_hits for r in found.regions),
        "cache_misses": sum(r.cache_misses for r in found.regions),
        "recompiles": len(found.recompiles),
        "regions": regions,
        "breaks": [asdict(b) for b in found.breaks],
        "kernels": [_in_ms(asdict(k), "time_ns") for k in found.kernels],
    }


def _in_ms(row: dict[str, Any], column: str) -> dict[str, Any]:
    value = row.pop(column)
    return {**row, column.replace("_ns", "_ms"): value / 1e6}
