"""Every real trace loads, and its tables add up to what plain json says, to the nanosecond."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from sonde.ingest.kineto import reader as kineto
from sonde.store.recording import Recording

from . import slow_oracle

TRACES = slow_oracle.trace_folder()
NOT_TRACES = (
    "benchmark_simple_add_et",
    "memory_timeline",
    "cpu_op_map",
    "execution_details",
    "oracle_result",
)
# Larger files take the slow oracle seconds each; `make traces` (SONDE_ALL_TRACES=1) has them too.
QUICK_BYTES = 400_000
ALL_TRACES = bool(os.environ.get("SONDE_ALL_TRACES"))


def files() -> list[pytest.param]:
    found = [
        p
        for p in sorted(TRACES.rglob("*.json*"))
        if "malformed" not in p.parts and not any(word in p.name for word in NOT_TRACES)
    ]
    return [
        pytest.param(p, id=str(p.relative_to(TRACES))[:70])
        for p in found
        if ALL_TRACES or p.stat().st_size < QUICK_BYTES
    ]


def totals_of(recording: Recording) -> slow_oracle.Totals:
    found = slow_oracle.Totals()
    for name in ("ops", "launches", "kernels", "marks"):
        table = recording.table(name)
        rows = np.arange(len(table))
        if name == "marks":  # only what is in no other table: spans of unknown categories
            extra = table.text("extra")
            rows = np.array([i for i in rows if (extra[i] or "").startswith('{"category"')], np.int64)
        names = table.text("name").take(rows).tolist()
        start, end = table.array("start_ns")[rows].tolist(), table.array("end_ns")[rows].tolist()
        for n, a, b in zip(names, start, end, strict=True):
            found.count[name, str(n)] += 1
            found.duration_ns[name, str(n)] += b - a
            found.start_ns[name, str(n)] += a
    memory = recording.table("memory")
    found.memory_events = len(memory)
    found.memory_bytes = int(memory.array("bytes").sum())
    return found


@pytest.mark.parametrize("path", files())
def test_tables_equal_the_slow_computation(path: Path) -> None:
    expected, seen = slow_oracle.totals(path), totals_of(kineto.read(path))
    for column in ("count", "duration_ns", "start_ns"):
        assert dict(getattr(seen, column)) == dict(getattr(expected, column)), column
    assert (seen.memory_events, seen.memory_bytes) == (expected.memory_events, expected.memory_bytes)


def test_the_set_covers_every_generation_of_categories() -> None:
    seen: dict[str, int] = defaultdict(int)
    for path in ("kineto_tb/oracle_gpu_metrics_input.json", "misc/nuggets_qlora.json"):
        for event in slow_oracle.load(TRACES / path)["traceEvents"]:
            seen[event.get("cat", "")] += 1
    assert {"Operator", "Runtime", "Kernel", "cpu_op", "cuda_runtime", "kernel"} <= set(seen)


def test_traces_read_in_parallel_are_those_read_one_by_one() -> None:
    paths = sorted((TRACES / "multirank/megatron_tp8").glob("*.json.gz"))
    together = kineto.read_all(paths, workers=4)
    for path, recording in zip(paths, together, strict=True):
        alone = kineto.read(path)
        assert recording.path == path
        assert int(recording.table("processes").array("rank")[0]) == paths.index(path)
        for name in ("ops", "launches", "kernels"):
            for column in ("start_ns", "end_ns"):
                mine, theirs = recording.table(name).array(column), alone.table(name).array(column)
                assert np.array_equal(mine, theirs)
