"""What one rank's devices did, by kernel, call, copy, wait and graph: the lists behind `sonde show REC gpu`.

Enters: a `RankSummary`. Leaves: a dict of plain JSON values with documented keys; times in milliseconds,
microseconds where the key says so. None stands for what the trace does not say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.analyze.ranks.summary import RankSummary

ROWS = 20  # of each list, where nobody asked for more
MS = 1e6
US = 1e3


def rank_details(rank: RankSummary, rows: int = ROWS) -> dict[str, Any]:
    """All lists of one rank, the longest first, at most `rows` rows each."""
    return {
        "rank": rank.rank,
        "source": rank.source,
        "rows_in_all": {
            name: len(getattr(rank, name))
            for name in ("kernels", "launches", "calls", "syncs", "dead_windows")
        },
        "kernels": _kernels(rank, rows),
        "launches": _launches(rank, rows),
        "calls": [
            {
                "name": c.name,
                "kind": c.kind,
                "api": c.api,
                "calls": c.calls,
                "total_ms": c.total_ns / MS,
                "median_us": c.median_ns / US,
                "max_us": c.max_ns / US,
            }
            for c in rank.calls[:rows]
        ],
        "syncs": [
            {
                "call": s.call,
                "op": s.op,
                "count": s.count,
                "waited_ms": s.waited_ns / MS,
                "device_idle_ms": s.bubble_ns / MS,
                "longest_ms": s.longest_ns / MS,
            }
            for s in rank.syncs[:rows]
        ],
        "dead_windows": [
            {
                "device": w.device,
                "start_ms": (w.start_ns - rank.start_ns) / MS,
                "ms": w.length_ns / MS,
                "cause": w.cause,
                "next": w.next_event,
            }
            for w in rank.dead_windows[:rows]
        ],
        "copies": [
            {
                "direction": c.direction,
                "memory": c.memory,
                "calls": c.calls,
                "bytes": c.bytes,
                "total_ms": c.total_ns / MS,
                "gbs": c.bandwidth_gbs,
                "best_gbs": c.best_gbs,
                "small_calls": c.small_calls,
            }
            for c in rank.copies
        ],
        "graphs": {
            "graphs": rank.graphs.graphs,
            "launches": rank.graphs.launches,
            "events": rank.graphs.events,
            "device_ms": rank.graphs.device_ns / MS,
            "share": rank.graphs.share,
        },
        "memory": [
            {
                "device": m.device,
                "peak_bytes": m.peak_bytes,
                "peak_reserved_bytes": m.peak_reserved_bytes,
                "fragmentation": m.fragmentation,
            }
            for m in rank.memory
        ],
        "critical_path_ms": {bound: ns / MS for bound, ns in rank.path_ns.items()},
        "achieved": _achieved(rank, rows),
    }


def _kernels(rank: RankSummary, rows: int) -> list[dict[str, Any]]:
    return [
        {
            "name": k.name,
            "class": k.kernel_class,
            "origin": k.origin,
            "fused": list(k.fused),
            "tensor_cores": k.tensor_cores,
            "calls": k.calls,
            "graph_calls": k.graph_calls,
            "total_ms": k.total_ns / MS,
            "share": k.share,
            "median_us": k.median_ns / US,
            "blocks_per_sm": k.mean_blocks_per_sm,
            "occupancy_percent": k.mean_occupancy,
        }
        for k in rank.kernels[:rows]
    ]


def _launches(rank: RankSummary, rows: int) -> list[dict[str, Any]]:
    return [
        {
            "name": s.name,
            "calls": s.call.count,
            "events": s.events,
            "call_median_us": s.call.median_ns / US,
            "device_median_us": s.device.median_ns / US,
            "latency_median_us": s.latency.median_ns / US,
            "latency_p95_us": s.latency.p95_ns / US,
            "short_kernels": s.short_kernels,
        }
        for s in rank.launches[:rows]
    ]


def _achieved(rank: RankSummary, rows: int) -> dict[str, Any]:
    found = rank.achieved
    return {
        "device_name": found.device_name or None,
        "peak_tflops": found.peak_tflops,
        "flops": found.flops,
        "covered": found.covered,
        "mfu": found.mfu,
        "mfu_of_covered": found.mfu / found.covered if found.mfu and found.covered else None,
        "why_unknown": found.why_unknown or None,
        "rows": [
            {
                "name": r.name,
                "item_bytes": r.item_bytes or None,
                "calls": r.calls,
                "device_ms": r.device_ns / MS,
                "tflops": r.tflops,
                "gbs": r.gbs,
                "peak_share": r.peak_share,
            }
            for r in found.rows[:rows]
        ],
    }
