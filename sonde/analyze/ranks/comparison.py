"""All ranks together: the object behind `sonde show REC gpu`.

Enters: one `RankSummary` per rank. Leaves: `GpuSummary` and the answer made of it (`answer.py`).
This is the reduce step: it sees summaries only, so it costs the same for 8 ranks of 1 GB as of 1 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.analyze.device.verdict import LOSS_SHARE, bound, without_edges
from sonde.analyze.ranks.alignment import Alignment, align
from sonde.analyze.ranks.answer import GpuAlignment, GpuAnswer, GpuDevice, GpuStraggler
from sonde.analyze.ranks.details import ROWS, rank_details
from sonde.analyze.ranks.stragglers import Straggler, last_arrivals, stragglers, waiting_ns
from sonde.analyze.ranks.summary import DeviceSummary, RankSummary


@dataclass(frozen=True)
class GpuSummary:
    """Devices of all ranks, one clock, and who is late."""

    ranks: tuple[RankSummary, ...]
    alignment: Alignment
    stragglers: tuple[Straggler, ...]
    waiting_ns: dict[int, int]
    last_arrivals: dict[int, int]

    def devices(self) -> list[GpuDevice]:
        """One row per device of each rank."""
        return [_device(r, d, self.waiting_ns.get(r.rank)) for r in self.ranks for d in r.devices]

    def answer(self, rows: int = ROWS) -> GpuAnswer:
        """What `show gpu` prints; `rows` of each list of a rank."""
        return GpuAnswer(
            devices=self.devices(),
            stragglers=[
                GpuStraggler(
                    rank=s.rank,
                    cause=s.cause,
                    last_arrivals=s.last_arrivals,
                    shared_collectives=s.shared,
                    waiting_ms=s.waiting_ns / 1e6,
                    peers_waiting_ms=s.peers_waiting_ns / 1e6,
                    caused_ms=s.caused_ns / 1e6,
                    evidence=s.evidence,
                )
                for s in self.stragglers
            ],
            alignment=self._alignment(),
            ranks=[rank_details(rank, rows) for rank in self.ranks],
        )

    def _alignment(self) -> GpuAlignment:
        found = self.alignment
        return GpuAlignment(
            aligned=found.aligned,
            reason=found.refused or None,
            shared_collectives=found.shared,
            uncertainty_us=found.uncertainty_ns / 1e3,
            offset_us={str(r): o / 1e3 for r, o in zip(found.ranks, found.offsets_ns, strict=True)},
            waiting_ms={str(r): w / 1e6 for r, w in self.waiting_ns.items()},
            last_arrivals={str(r): n for r, n in self.last_arrivals.items()},
        )


def gpu_summary(ranks: Sequence[RankSummary]) -> GpuSummary:
    """Compare ranks. Ranks must be distinct; the importer settles duplicates before."""
    ordered = tuple(sorted(ranks, key=lambda r: (r.rank, r.source)))
    found = align({r.rank: r.collectives for r in ordered})
    times = {r.rank: t for r in ordered if (t := r.times()) is not None}
    late = stragglers(found, times) if len(times) == len(ordered) else []
    return GpuSummary(ordered, found, tuple(late), waiting_ns(found), last_arrivals(found))


def bound_with_waiting(shares: dict[str, float], math_share: float, waiting: float) -> str:
    """The verdict once waiting for other ranks is told from moving data.

    Time inside a collective is the rank's own only as far as data moves; the rest belongs to whoever came
    late. A rank that is late itself is bound by what makes it late, not by the little it communicates.
    """
    own = {**shares, "communication": max(shares["communication"] - waiting, 0.0)}
    word = bound(own, math_share)
    lost = max(own[k] for k in ("input", "overhead", "communication", "copy"))
    return word if lost >= LOSS_SHARE else bound(shares, math_share)


def _device(rank: RankSummary, device: DeviceSummary, waiting_ns: int | None) -> GpuDevice:
    time, idle, shares = device.time, device.idle, device.verdict.shares
    waited = waiting_ns or 0
    return GpuDevice(
        rank=rank.rank,
        process=time.process,
        device=time.device,
        events=time.events,
        window_ms=time.window_ns / 1e6,
        busy_ms=time.busy_ns / 1e6,
        idle_ms=time.idle_ns / 1e6,
        compute_ms=time.compute_ns / 1e6,
        communication_ms=time.communication_ns / 1e6,
        copy_ms=time.copy_ns / 1e6,
        overlap_ms=time.overlap_ns / 1e6,
        idle_host_ms=idle.host_ns / 1e6,
        idle_kernel_ms=idle.kernel_ns / 1e6,
        idle_sync_ms=idle.sync_ns / 1e6,
        idle_other_ms=idle.other_ns / 1e6,
        kernels_without_launch=device.skew.without_launch,
        kernels_launched_before_trace=device.skew.before_trace,
        launched_before_trace_ms=device.skew.before_trace_ns / 1e6,
        kernels_before_launch=device.skew.before_launch,
        skew_us=device.skew.worst_ns / 1e3,
        sm_efficiency=time.sm_efficiency,
        occupancy_percent=time.occupancy,
        tensor_core_share=time.tensor_core_share,
        max_queue_depth=device.max_queue_depth,
        mean_queue_depth=device.mean_queue_depth,
        waiting_ms=None if waiting_ns is None else waiting_ns / 1e6,
        transfer_ms=None if waiting_ns is None else (time.communication_ns - waiting_ns) / 1e6,
        bound=bound_with_waiting(
            without_edges(shares, idle, max(time.window_ns, 1)),
            device.verdict.math_share,
            waited / max(time.window_ns, 1),
        ),
        shares=dict(shares),
        evidence=list(device.verdict.evidence),
    )
