"""What one rank's devices did, by kernel, call, copy, wait and graph: the lists behind `sonde show REC gpu`.

Enters: a `RankSummary`. Leaves: a `GpuRank` (`answer.py` says what its columns are).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sonde.analyze.ranks.answer import (
    GpuAchieved,
    GpuCall,
    GpuCopy,
    GpuGraphs,
    GpuKernel,
    GpuLaunch,
    GpuMemory,
    GpuRank,
    GpuRate,
    GpuStretch,
    GpuSync,
)

if TYPE_CHECKING:
    from sonde.analyze.ranks.summary import RankSummary

ROWS = 20  # of each list, where nobody asked for more
MS = 1e6
US = 1e3


def rank_details(rank: RankSummary, rows: int = ROWS) -> GpuRank:
    """All lists of one rank, the longest first, at most `rows` rows each."""
    return GpuRank(
        rank=rank.rank,
        source=rank.source,
        rows_in_all={
            name: len(getattr(rank, name))
            for name in ("kernels", "launches", "calls", "syncs", "dead_windows")
        },
        kernels=_kernels(rank, rows),
        launches=_launches(rank, rows),
        calls=[
            GpuCall(c.name, c.kind, c.api, c.calls, c.total_ns / MS, c.median_ns / US, c.max_ns / US)
            for c in rank.calls[:rows]
        ],
        syncs=[
            GpuSync(s.call, s.op or None, s.count, s.waited_ns / MS, s.bubble_ns / MS, s.longest_ns / MS)
            for s in rank.syncs[:rows]
        ],
        dead_windows=[
            GpuStretch(w.device, (w.start_ns - rank.start_ns) / MS, w.length_ns / MS, w.cause, w.next_event)
            for w in rank.dead_windows[:rows]
        ],
        copies=_copies(rank),
        graphs=GpuGraphs(
            graphs=rank.graphs.graphs,
            launches=rank.graphs.launches,
            events=rank.graphs.events,
            device_ms=rank.graphs.device_ns / MS,
            share=rank.graphs.share,
        ),
        memory=[
            GpuMemory(m.device, m.peak_bytes, m.peak_reserved_bytes, m.fragmentation) for m in rank.memory
        ],
        critical_path_ms={bound: ns / MS for bound, ns in rank.path_ns.items()},
        achieved=_achieved(rank, rows),
    )


def _kernels(rank: RankSummary, rows: int) -> list[GpuKernel]:
    return [
        GpuKernel(
            name=k.name,
            kernel_class=k.kernel_class,
            origin=k.origin,
            fused=list(k.fused),
            tensor_cores=k.tensor_cores,
            calls=k.calls,
            graph_calls=k.graph_calls,
            total_ms=k.total_ns / MS,
            share=k.share,
            median_us=k.median_ns / US,
            max_us=k.max_ns / US,
            blocks_per_sm=_known(k.mean_blocks_per_sm),
            occupancy_percent=_known(k.mean_occupancy),
        )
        for k in rank.kernels[:rows]
    ]


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _launches(rank: RankSummary, rows: int) -> list[GpuLaunch]:
    return [
        GpuLaunch(
            name=s.name,
            calls=s.call.count,
            events=s.events,
            call_median_us=s.call.median_ns / US,
            device_median_us=s.device.median_ns / US,
            latency_median_us=s.latency.median_ns / US,
            latency_p95_us=s.latency.p95_ns / US,
            short_kernels=s.short_kernels,
        )
        for s in rank.launches[:rows]
    ]


def _copies(rank: RankSummary) -> list[GpuCopy]:
    return [
        GpuCopy(
            direction=c.direction,
            memory=c.memory,
            calls=c.calls,
            bytes=c.bytes,
            total_ms=c.total_ns / MS,
            gbs=c.bandwidth_gbs,
            best_gbs=c.best_gbs,
            small_calls=c.small_calls,
        )
        for c in rank.copies
    ]


def _achieved(rank: RankSummary, rows: int) -> GpuAchieved:
    found = rank.achieved
    return GpuAchieved(
        device_name=found.device_name or None,
        peak_tflops=found.peak_tflops,
        flops=found.flops,
        covered=found.covered,
        mfu=found.mfu,
        mfu_of_covered=found.mfu / found.covered if found.mfu and found.covered else None,
        why_unknown=found.why_unknown or None,
        rows=[
            GpuRate(r.name, r.item_bytes or None, r.calls, r.device_ns / MS, r.tflops, r.gbs, r.peak_share)
            for r in found.rows[:rows]
        ],
    )
