"""Advice that was wrong on real programs: each rule fires on its cause, and not on what only looks like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sonde.columns import Text
from sonde.insights.engine import judge
from sonde.insights.rules.device import device_allocation, host_bound_gpu
from sonde.insights.rules.host import gil_contention, io_in_step, warm_up
from sonde.insights.rules.kernels import fp32_precision, reference_kernels
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.device_run import device_run
from tests.unit.insights.made_loop import BACKWARD, MODEL, MS, UPDATE, Spent, loop, op
from tests.unit.insights.planted import mark, planted, said, settings

REFERENCE = (
    "native",
    "dnnl::impl::cpu::ref_convolution_fwd_t::execute_forward",
    {"library": "libtorch_cpu.so"},
)
CELL = ("native", "dnnl::impl::cpu::ref_rnn_fwd_t::cell_execution", {"library": "libtorch_cpu.so"})


@pytest.mark.parametrize(
    ("operator", "frame", "loud"),
    [("aten::mkldnn_convolution", REFERENCE, True), ("aten::mkldnn_rnn_layer", CELL, False)],
    ids=["convolution", "lstm"],
)
def test_a_reference_kernel_is_blamed_only_where_a_faster_one_exists(
    operator: str, frame: tuple[str, str, dict[str, str]], loud: bool
) -> None:
    recording = loop(MODEL, Spent(10, 20, (op(operator), frame), "forward"), BACKWARD)
    assert (said(judge(recording, [reference_kernels.RULE]), "reference_kernels") is not None) == loud


@pytest.mark.parametrize(("flags", "loud"), [(["amx_bf16", "avx512_bf16"], True), (["avx512_bf16"], False)])
def test_lower_precision_is_advised_only_with_amx_and_never_promised(flags: list[str], loud: bool) -> None:
    has = settings(cpu_flags=flags, threads=2, float32_matmul_precision="highest")
    found = said(judge(planted(has), [fp32_precision.RULE]), "fp32_precision")
    assert (found is not None) == loud
    if found is not None:
        assert found.saving is not None
        assert found.saving.low_ms < 0 < found.saving.high_ms


@pytest.mark.parametrize(("compiled_s", "loud"), [(12, True), (0, False)])
def test_a_slow_start_is_told_only_where_a_cache_takes_it_away(compiled_s: int, loud: bool) -> None:
    run = loop(MODEL, BACKWARD, UPDATE)
    marks = run.table("marks")
    first = (marks.text("kind").equals("step")) & (marks.array("start_ns") == marks.array("start_ns").min())
    begin = int(marks.array("start_ns").min()) - 15_000 * MS
    longer = marks.with_columns(start_ns=np.where(first, begin, marks.array("start_ns")))
    compiling = mark("compile", [begin + MS], compiled_s * 1_000 * MS, "forward")
    tables = {t.name: t for t in run.tables()} | {"marks": build.concat("marks", [longer, compiling])}
    report = judge(Recording(replace(run.meta, duration_s=20.0), tables), [warm_up.RULE])
    assert (said(report, "warm_up") is not None) == loud


@pytest.mark.parametrize(("only_step", "loud"), [(None, True), (1, False)], ids=["every step", "one step"])
def test_allocations_count_in_the_median_step(only_step: int | None, loud: bool) -> None:
    run = device_run(steps=8)
    launches = run.table("launches")
    rows = launches.text("name").equals("cudaMalloc")
    if only_step is not None:
        ordinal = np.cumsum(rows) - 1
        rows &= ordinal % 8 == only_step
    end = np.where(rows, launches.array("start_ns") + 5 * MS, launches.array("end_ns"))
    kind = Text.of(
        ["allocate" if r else k for r, k in zip(rows.tolist(), launches.text("kind").tolist(), strict=True)]
    )
    tables = {t.name: t for t in run.tables()} | {"launches": launches.with_columns(end_ns=end, kind=kind)}
    report = judge(Recording(run.meta, tables), [device_allocation.RULE])
    assert (said(report, "device_allocation") is not None) == loud


def test_a_trace_that_replays_graphs_is_not_told_to_use_them() -> None:
    run = device_run(steps=8)
    plain = said(judge(run, [host_bound_gpu.RULE]), "host_bound_gpu")
    kernels = run.table("kernels")
    replayed = kernels.with_columns(graph=np.full(len(kernels), 3, np.int64))
    tables = {t.name: t for t in run.tables()} | {"kernels": replayed}
    graphs = said(judge(Recording(run.meta, tables), [host_bound_gpu.RULE]), "host_bound_gpu")
    assert plain is not None
    assert "reduce-overhead" in plain.fix
    assert graphs is not None
    assert "reduce-overhead" not in graphs.fix
    assert graphs.confidence == "low"


@pytest.mark.parametrize(
    ("reason", "rule", "judged"),
    [("gil", "gil_contention", gil_contention.RULE)],
)
def test_waiting_for_the_lock_is_found_and_its_absence_is_not(reason: str, rule: str, judged: object) -> None:
    waits = Spent(8, 24, (), state="waiting", reason=reason)
    assert said(judge(loop(MODEL, BACKWARD, UPDATE, waits), [judged]), rule) is not None  # type: ignore[list-item]
    assert said(judge(loop(MODEL, BACKWARD, UPDATE), [judged]), rule) is None  # type: ignore[list-item]


def test_saving_in_every_step_is_found_and_its_absence_is_not() -> None:
    save = ("python", "save", {"file": "/x/site-packages/torch/serialization.py", "line": 3})
    written = loop(MODEL, BACKWARD, UPDATE, Spent(8, 24, (save,)))
    assert said(judge(written, [io_in_step.RULE]), "io_in_step") is not None
    assert said(judge(loop(MODEL, BACKWARD, UPDATE), [io_in_step.RULE]), "io_in_step") is None
