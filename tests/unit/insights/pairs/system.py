"""Rules about threads, memory and the machine: told by settings, counters and the pool's samples."""

from __future__ import annotations

from typing import Any

from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, GEMM, LOOP, MODEL, UPDATE, Spent, op
from tests.unit.insights.pairs.recordings import Call, made, with_counters, with_workers

GB = 1 << 30
MOVES_MEMORY = Spent(17, 20, (op("aten::add"), LOOP), "forward")
PRODUCT = Spent(12, 20, (op("aten::mm"), GEMM), "forward")
TWO_CPUS = {"usable_cpus": 2, "cpus": 2}
FAULTS = Spent(12, 20, (op("aten::add"), ("kernel", "clear_page_erms", {})), "forward")


def says(**values: Any) -> Recording:
    return made(MODEL, BACKWARD, UPDATE, says=values)


def spins(policy: str) -> Recording:
    run = made(MODEL, BACKWARD, says={"threads": 4}, environment={"OMP_WAIT_POLICY": policy})
    return with_workers(run, "spinning")


def crowded(threads: int) -> Recording:
    barrier = Spent(4, 20, (op("aten::mm"),), "forward", state="spinning")
    return made(MODEL, BACKWARD, barrier, says={"threads": threads}, machine=TWO_CPUS)


def alone(calls: int) -> Recording:
    """A product of 12 ms that no worker helps with, in so many calls."""
    made_calls = [Call("aten::mm", 0.5 * i, 0.4 if calls > 1 else 12.0) for i in range(calls)]
    return made(PRODUCT, UPDATE, says={"threads": 4}, calls=made_calls)


def faults(per_second: float) -> Recording:
    counters = {"minor_faults": lambda s: per_second * s, "cpu_user_ns": lambda s: 5e8 * s,
                "cpu_system_ns": lambda s: 5e8 * s}  # fmt: skip
    return with_counters(made(MODEL, FAULTS), **counters)


def resident(pages: str) -> Recording:
    run = made(MOVES_MEMORY, says={"huge_pages": pages})
    return with_counters(run, rss_bytes=lambda s: 5e9)


def nodes(*held: int) -> Recording:
    return made(MOVES_MEMORY, says={"threads": 8, "numa_bytes": {str(n): b for n, b in enumerate(held)}})


def moved(times: int) -> Recording:
    return says(scheduling={"seconds": 10.0, "stolen_share": 0.0, "most_moves": times})


PAIRS = {
    "threads_above_quota": (
        lambda: says(quota_cpus=2, threads=8),
        lambda: says(quota_cpus=8, threads=8),
    ),
    "oversubscription": (lambda: crowded(16), lambda: crowded(2)),
    "smt_siblings": (
        lambda: says(threads=8, physical_cpus=4),
        lambda: says(threads=4, physical_cpus=4),
    ),
    "spin_share": (lambda: spins("active"), lambda: spins("passive")),
    "serial_regions": (lambda: alone(1), lambda: alone(20)),
    "multi_instance": (
        lambda: made(MODEL, says={"threads": 8}),
        lambda: with_workers(made(MODEL, says={"threads": 8}), "running", stack_of_main=True, count=7),
    ),
    "false_affinity": (
        lambda: says(threads=4, affinity={"main": 1, "online": 8}),
        lambda: says(threads=4, affinity={"main": 8, "online": 8}),
    ),
    "several_openmp": (
        lambda: says(openmp=["/x/torch/lib/libgomp.so.1", "/y/libiomp5.so"]),
        lambda: says(openmp=["/x/libgomp.so.1"]),
    ),
    "page_faults": (lambda: faults(200_000), lambda: faults(100)),
    "huge_pages": (lambda: resident("never"), lambda: resident("madvise")),
    "numa_remote": (lambda: nodes(9 * GB, GB // 2), lambda: nodes(5 * GB, 5 * GB)),
    "cpu_migrations": (lambda: moved(900), lambda: moved(90)),
    "stolen_time": (
        lambda: says(scheduling={"seconds": 10.0, "stolen_share": 0.3}),
        lambda: says(scheduling={"seconds": 10.0, "stolen_share": 0.01}),
    ),
    "memory_growth": (
        lambda: with_counters(says(), rss_bytes=lambda s: 5e8 + 4e8 * s),
        lambda: with_counters(says(), rss_bytes=lambda s: 5e8),
    ),
}  # fmt: skip
