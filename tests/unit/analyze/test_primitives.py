"""Totals, joins and quality of primitives on small tables with known answers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.primitives import table as analysis
from sonde.columns import Table
from sonde.ingest.verbose import onednn_log
from sonde.link.primitives import with_ops
from sonde.store import build

DATA = Path(__file__).resolve().parents[2] / "data" / "onednn"


def primitives(**columns: object) -> Table:
    count = len(next(iter(columns.values())))  # type: ignore[arg-type]
    defaults = {"event": ["exec"] * count, "library": ["onednn"] * count, "process": [0] * count}
    defaults |= {"primitive": list(range(count)), "kind": ["convolution"] * count}
    return build.table("primitives", **{**defaults, **columns})  # type: ignore[arg-type]


def operators(rows: list[tuple[int, int, int, str, float]], thread: int = 0) -> Table:
    """Rows of start, end, parent, name, flops."""
    return build.table(
        "ops",
        op=list(range(len(rows))),
        thread=[thread] * len(rows),
        start_ns=[r[0] for r in rows],
        end_ns=[r[1] for r in rows],
        parent=[r[2] for r in rows],
        name=[r[3] for r in rows],
        kind=["op"] * len(rows),
        flops=[r[4] for r in rows],
    )


THREADS = build.table("threads", thread=[0], process=[0])


def test_totals_leave_out_creations_and_graph_partitions() -> None:
    table = primitives(
        event=["exec", "create:cache_miss", "exec", "exec"],
        kind=["convolution", "convolution", "graph:sdp", "convolution"],
        implementation=["jit:avx2"] * 4,
        shape=["a", "a", "b", "a"],
        time_ms=[1.0, 5.0, 2.0, 3.0],
        flops=[10.0, 10.0, 5.0, 10.0],
        bytes=[1.0, 1.0, 1.0, math.nan],
    )
    found = analysis.summarize(table)
    assert found.array("calls").tolist() == [2]
    assert found.array("total_ms").tolist() == [4.0]
    assert found.array("flops").tolist() == [20.0]
    assert math.isnan(found.array("bytes")[0])


@pytest.mark.parametrize("name", ["training", "lstm", "conv", "pool_softmax", "int8"])
def test_totals_of_a_real_log_equal_its_executions(name: str) -> None:
    table = onednn_log.read(DATA / f"torch_2.13_{name}.log.gz").table("primitives")
    work = table.take(table.text("event").equals("exec"))
    found = analysis.summarize(table)
    assert found.array("calls").sum() == len(work)
    assert found.array("total_ms").sum() == pytest.approx(work.array("time_ms").sum())
    assert (np.diff(found.array("total_ms")) <= 0).all()


def test_each_primitive_gets_the_innermost_operator_around_it() -> None:
    ops = operators(
        [
            (0, 10_000, -1, "aten::conv2d", math.nan),
            (1_000, 9_000, 0, "aten::mkldnn_convolution", math.nan),
            (20_000, 30_000, -1, "aten::relu", math.nan),
        ]
    )
    table = primitives(start_ns=[2_000, 9_200, 15_000, -1], time_ms=[0.005, 0.0002, 0.001, 0.001])
    assert with_ops(table, ops, THREADS).array("op").tolist() == [1, 0, -1, -1]


def test_calls_of_mkl_take_products_in_order_by_their_size() -> None:
    ops = operators(
        [
            (0, 10, -1, "aten::addmm", 100.0),
            (20, 30, -1, "aten::mm", 300.0),
            (40, 50, -1, "aten::bmm", 80.0),
            (60, 70, -1, "aten::mm", 100.0),
        ]
    )
    table = primitives(
        library=["mkl"] * 6,
        kind=["sgemm"] * 6,
        flops=[100.0, 40.0, 40.0, 100.0, 7.0, math.nan],
        time_ms=[0.1] * 6,
    )
    assert with_ops(table, ops, THREADS).array("op").tolist() == [0, 2, 2, 3, -1, -1]


def test_weak_kernels_by_issue() -> None:
    table = primitives(
        implementation=["ref:any", "x64:gemm:jit", "jit:avx2", "jit:avx512_core"],
        isa=[None, None, "avx2", "avx512_core"],
        quality=["reference", "fallback", "good", "good"],
        shape=["s"] * 4,
        time_ms=[4.0, 3.0, 2.0, 1.0],
    )
    assert analysis.weak_kernels(table, machine_rank=5).text("issue").tolist() == [
        "reference",
        "fallback",
        "isa",
    ]
    assert analysis.weak_kernels(table).text("issue").tolist() == ["reference", "fallback"]


@pytest.mark.parametrize(
    ("layouts", "expected"),
    [
        ("src:f32::blocked:abcd::f0 dst:f32::blocked:Acdb8a::f0", "weights"),
        ("src_f32::blocked:abcd:f0 dst_f32::blocked:ABcd16b16a:f0", "weights"),
        ("in:f32_oihw out:f32_OIhw16i16o", "weights"),
        ("src:f32::blocked:aBcd8b::f0 dst:f32::blocked:abcd::f0", "activations"),
        ("in:f32_nchw out:f32_nChw16c", "activations"),
        ("src:f32::blocked:ab::f0 dst:bf16::blocked:ab::f0", "dtype"),
        ("src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0", "other"),
        ("#", "other"),
    ],
)
def test_classes_of_reorders(layouts: str, expected: str) -> None:
    assert analysis.reorder_class(layouts) == expected


def test_training_without_channels_last_reorders_weights_and_activations() -> None:
    table = onednn_log.read(DATA / "torch_2.13_training.log.gz").table("primitives")
    found = analysis.reorders(table)
    assert {"weights", "activations"} <= set(found.text("what").tolist())
    work = table.take(analysis.executed(table) & table.text("kind").equals("reorder"))
    assert found.array("total_ms").sum() == pytest.approx(work.array("time_ms").sum())


def test_creations_are_those_no_cache_had() -> None:
    table = onednn_log.read(DATA / "torch_2.13_training.log.gz").table("primitives")
    misses = table.text("event").equals("create:cache_miss").sum()
    assert analysis.creations(table).array("calls").sum() == misses > 0
