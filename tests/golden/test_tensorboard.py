"""The views of the TensorBoard plugin, from kineto's own expected file, on the traces they were made of."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest

from sonde.analyze.base.grouping import parent_rows
from sonde.analyze.device.by_op import device_by, inside_same
from sonde.analyze.device.events import device_work
from sonde.analyze.device.kernel_table import kernel_table
from sonde.analyze.device.time import device_times
from sonde.analyze.steps.breakdown import PARTS, mean_parts_ns, step_breakdown
from sonde.analyze.steps.trace import trace_steps
from sonde.store.recording import Recording
from tests.oracle.traces import plain, trace

RUNS = {"kineto_tb/resnet50_nw0_a.json.gz": 0, "kineto_tb/resnet50_nw4_a.json.gz": 5}
VIEWS = ("overall", "operator_chart", "operators", "kernels", "kernel_chart")


def expected(name: str) -> dict[str, Any]:
    lines = trace("kineto_tb/oracle_result_check_file.txt").read_text().splitlines()
    at = RUNS[name]
    return dict(zip(VIEWS, map(json.loads, lines[at : at + 5]), strict=True))


def breakdown(recording: Recording) -> Any:
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    work = device_work(kernels, launches)
    steps = trace_steps(recording.table("marks"), ops, work)
    return step_breakdown(steps, work, kernels, launches, ops)


@pytest.mark.parametrize("name", RUNS)
def test_each_step_splits_as_the_plugin_says(name: str) -> None:
    rows = breakdown(plain(name))
    steps = expected(name)["overall"]["steps"]
    parts = [c["name"] for c in steps["columns"] if c["name" if "name" in c else "type"] and "name" in c][1:]
    for mine, row in zip(rows, steps["rows"], strict=True):
        numbers = [v for v in row[1:] if not isinstance(v, str)]
        assert str(mine.number) == row[0]
        assert {p: mine.parts_ns[p] / 1000 for p in parts} == dict(zip(parts, numbers, strict=True))
        assert sum(mine.parts_ns.values()) == mine.total_ns


@pytest.mark.parametrize("name", RUNS)
def test_mean_step_and_shares_as_the_plugin_says(name: str) -> None:
    mean = mean_parts_ns(breakdown(plain(name)))
    whole = expected(name)["overall"]["performance"][0]
    assert round(mean["Total"] / 1000) == whole["value"]
    for child in whole["children"]:
        assert child["name"] in PARTS
        assert round(mean[child["name"]] / 1000) == child["value"]
        assert round(100 * mean[child["name"]] / mean["Total"], 2) == child["extra"]


@pytest.mark.parametrize("name", RUNS)
def test_device_figures_as_the_plugin_says(name: str) -> None:
    recording = plain(name)
    rows = breakdown(recording)
    kernels = recording.table("kernels")
    work = device_work(kernels, recording.table("launches"))
    (time,) = device_times(work, kernels, rows[0].start_ns, rows[-1].end_ns)
    said = {d["title"]: d["value"] for d in expected(name)["overall"]["gpu_metrics"]["data"]}
    assert f"{round(100 * time.compute_ns / time.window_ns, 2)} %" == said["GPU Utilization"]
    assert f"{round(100 * (time.sm_efficiency or 0), 2)} %" == said["Est. SM Efficiency"]
    assert f"{round(time.occupancy or 0, 2)} %" == said["Est. Achieved Occupancy"]
    assert f"{round(100 * (time.tensor_core_share or 0.0), 2)} %" == said["Kernel Time using Tensor Cores"]


@pytest.mark.parametrize("name", RUNS)
def test_kernel_table_as_the_plugin_says(name: str) -> None:
    recording = plain(name)
    kernels = recording.table("kernels")
    rows = kernel_table(device_work(kernels, recording.table("launches")), kernels)
    mine = {r.name: r for r in rows if r.kind == "kernel"}
    said = expected(name)["kernels"]["data"]["rows"]
    assert len(mine) == len(said)
    for kernel, cores, calls, total, mean, high, low, blocks, occupancy in said:
        row = mine[kernel]
        assert (row.calls, row.total_ns / 1000, row.max_ns / 1000, row.min_ns / 1000) == (
            calls,
            total,
            high,
            low,
        )
        assert round(row.mean_ns / 1000) == mean
        assert ("Yes" if row.tensor_cores else "No") == cores
        assert round(row.mean_blocks_per_sm, 2) == pytest.approx(blocks, abs=0.0101)
        assert round(row.mean_occupancy, 2) == pytest.approx(occupancy, abs=0.0101)


@pytest.mark.parametrize("name", RUNS)
def test_operator_table_as_the_plugin_says(name: str) -> None:
    recording = plain(name)
    ops = recording.table("ops")
    work = device_work(recording.table("kernels"), recording.table("launches"))
    mine = {r.key: r for r in device_by(work, ops, ops.text("name"))}
    said = expected(name)["operators"]["data"]
    assert len(said) > 40
    outer = ~inside_same(ops.text("name").codes, parent_rows(ops))
    outermost = Counter(n for n, is_outer in zip(ops.text("name").tolist(), outer, strict=True) if is_outer)
    for row in said:
        ours = mine[row["name"]]
        # The plugin merges a call into the call of the same name around it.
        assert outermost[row["name"]] <= row["calls"] <= ours.calls
        assert ours.device_self_ns / 1000 == row["device_self_duration"]
        assert ours.device_total_ns / 1000 == row["device_total_duration"]
        # The plugin adds a call inside a call of its own name twice; we count the outer one once.
        assert ours.host_total_ns / 1000 <= row["host_total_duration"]
    totals: dict[str, int] = defaultdict(int)
    for kernel in range(len(work)):
        totals[work.name[kernel] or ""] += int(work.durations[kernel])
    assert sum(r.device_self_ns for r in mine.values()) == sum(totals.values())
