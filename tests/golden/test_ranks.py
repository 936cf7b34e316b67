"""Many ranks: clocks, stragglers and their causes on real multi-rank traces."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from sonde.analyze.ranks.alignment import align
from sonde.analyze.ranks.collectives import Collectives
from sonde.analyze.ranks.comparison import GpuSummary, gpu_summary
from sonde.analyze.ranks.summary import RankSummary, RankTables, summarise
from sonde.rows import plain as as_json
from tests.oracle.traces import MEGATRON, plain, trace

TABLES = ("kernels", "launches", "ops", "marks", "memory")


@lru_cache(maxsize=64)
def summary(name: str) -> RankSummary:
    recording = plain(name)
    processes = recording.table("processes")
    tables = {name: recording.table(name) for name in TABLES}
    rank, world_size = (int(processes.array(column)[0]) for column in ("rank", "world_size"))
    return summarise(RankTables(**tables, rank=rank, world_size=world_size, source=name))


def together(names: list[str]) -> GpuSummary:
    return gpu_summary([summary(n) for n in names])


def torchrec(run: str, prefix: str) -> list[str]:
    folder = trace(f"multirank/torchrec/{run}")
    return [
        f"multirank/torchrec/{run}/{p.name}"
        for p in sorted(folder.iterdir())
        if f"internal_{prefix}" in p.name
    ]


def test_megatron_stragglers_are_0_and_6_and_the_host_is_why() -> None:
    """By an independent calculation; HTA raises ValueError here (it looks for `ncclKernel`)."""
    found = together(MEGATRON)
    assert found.alignment.aligned
    assert found.alignment.shared == 84
    assert found.alignment.uncertainty_ns < 50_000
    waits = [round(found.waiting_ns[r] / 1e6) for r in range(8)]
    assert waits == [191, 431, 363, 422, 445, 441, 214, 432]
    assert [s.rank for s in found.stragglers] == [0, 6]
    assert {s.cause for s in found.stragglers} == {"host-bound"}
    assert "idle 37.4%" in found.stragglers[0].evidence
    assert "idle 34.4%" in found.stragglers[1].evidence


def test_before_alignment_the_last_to_arrive_are_those_of_the_facts() -> None:
    ends = np.array([summary(n).collectives.end for n in MEGATRON])
    starts = np.array([summary(n).collectives.start for n in MEGATRON])
    last = np.bincount(starts.argmax(axis=0), minlength=8)
    assert (last[0], last[6], last[3]) == (32, 28, 15)
    spread = np.ptp(ends, axis=0) / 1000
    assert (round(float(np.median(spread))), round(float(spread.max()))) == (30, 49)


def test_stragglers_are_overhead_bound_and_the_others_wait_for_them() -> None:
    devices = {d["rank"]: d for d in as_json(together(MEGATRON).answer())["devices"]}
    assert {r for r, d in devices.items() if d["bound"] == "overhead-bound"} == {0, 6}
    assert {d["bound"] for r, d in devices.items() if r not in (0, 6)} == {"communication-bound"}
    assert max(d["transfer_ms"] for d in devices.values()) < 55  # what is left when nobody waits


def test_the_json_has_the_documented_keys() -> None:
    said = json.loads(json.dumps(as_json(together(MEGATRON).answer())))
    assert {"devices", "stragglers"} <= set(said)
    keys = (
        "rank device events window_ms busy_ms idle_ms compute_ms communication_ms copy_ms overlap_ms "
        "kernels_without_launch kernels_before_launch"
    )
    assert set(keys.split()) <= set(said["devices"][0])
    assert said["devices"][0]["events"] == 777
    assert said["devices"][0]["idle_ms"] == pytest.approx(222.514)


def test_a_shifted_clock_is_found_and_the_result_stays() -> None:
    """Move rank 3's clock by 250 ms: the offset is measured, waiting and stragglers do not change."""
    straight = {r: summary(n).collectives for r, n in enumerate(MEGATRON)}
    moved = dict(straight)
    c = moved[3]
    moved[3] = replace(c, start=c.start + 250_000_000, end=c.end + 250_000_000)
    a, b = align(straight), align(moved)
    offset = b.offsets_ns[3] - b.offsets_ns[0] - (a.offsets_ns[3] - a.offsets_ns[0])
    assert abs(offset - 250_000_000) <= a.uncertainty_ns
    assert np.abs((b.starts - b.starts[0]) - (a.starts - a.starts[0])).max() <= 2 * a.uncertainty_ns


def test_ranks_that_began_a_call_later_are_matched() -> None:
    """Rank 2 of this run recorded two collectives less than its peers, at the beginning."""
    found = together(
        torchrec("sst_long_a2a_optimizer_2", "2404") + torchrec("sst_long_a2a_optimizer_2", "2405")
    )
    assert found.alignment.aligned
    assert found.alignment.shared == 31
    assert [(s.rank, s.cause) for s in found.stragglers] == [(2, "host-bound")]
    assert summary(torchrec("sst_long_a2a_optimizer_2", "2404")[0]).devices[0].skew.without_launch > 50


def test_alignment_is_refused_where_ends_do_not_agree() -> None:
    found = together(["hta/trace_filter/sampled_rank-0.json.gz", "hta/trace_filter/sampled_rank-1.json.gz"])
    assert not found.alignment.aligned
    assert "disagree" in found.alignment.refused
    assert not found.stragglers


def test_alignment_is_refused_without_shared_collectives() -> None:
    found = together([MEGATRON[0], "hta/trace_filter/sampled_rank-1.json.gz"])
    assert "different sequences" in found.alignment.refused


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        (
            "kineto_tb/resnet50_nw0_a.json.gz",
            "kineto_tb/resnet50_nw4_a.json.gz",
            ("input-bound", "compute-bound"),
        ),
        (
            "samfast/asdf_False_small.json.gz",
            "samfast/asdf_True_small.json.gz",
            ("compute-bound", "kernel-bound"),
        ),
    ],
)
def test_pairs_get_the_verdicts_of_their_makers(before: str, after: str, verdicts: tuple[str, str]) -> None:
    """num_workers 0 → 4 removes the input wait; compiling halves the kernels and the window."""
    one, two = summary(before).devices[0], summary(after).devices[0]
    assert (one.verdict.bound, two.verdict.bound) == verdicts
    assert two.time.window_ns < one.time.window_ns


def test_groups_on_streams_of_their_own_are_matched_stream_by_stream() -> None:
    """Two communicators whose kernels interleave differently on each rank."""

    def rank(delay: int, swap: bool) -> Collectives:
        calls = [(1_000_000 * i + delay, s) for i in range(6) for s in (7, 9)]
        if swap:
            calls = [(t + (300 if s == 7 else 0), s) for t, s in calls]
        calls.sort()
        start = np.array([t for t, _ in calls])
        names = ["allreduce" if s == 7 else "allgather" for _, s in calls]
        end = np.array([1_000_000 * (t // 1_000_000) + 500_000 for t, _ in calls])
        return Collectives([""] * 12, names, names, [s for _, s in calls], start, end)

    found = align({0: rank(0, False), 1: rank(100, True), 2: rank(200, False)})
    assert found.aligned
    assert found.shared == 12
    assert found.offsets_ns == (0, 0, 0)


def test_two_shifts_that_fit_alike_are_refused() -> None:
    """Five equal calls against four, at a constant pace: nothing says which one is missing."""

    def rank(first: int, count: int) -> Collectives:
        start = np.arange(first, first + count) * 1000
        return Collectives(
            [""] * count, ["allreduce"] * count, ["allreduce"] * count, [7] * count, start, start + 400
        )

    assert "not clear" in align({0: rank(0, 5), 1: rank(0, 4)}).refused


def test_the_region_of_a_late_rank_is_named_and_annotations_are_no_operators() -> None:
    """Rank 2 of a torchrec run sits in one region for a second, in which hardly an operator runs."""
    found = together(
        torchrec("sst_long_a2a_optimizer_2", "2404") + torchrec("sst_long_a2a_optimizer_2", "2405")
    )
    (late,) = found.stragglers
    assert late.rank == 2
    assert "operators on the CPU meanwhile 5.2% (5.4%)" in late.evidence
    assert "the host was in '# running sparse arch' 85.6% of it (3.7%)" in late.evidence
