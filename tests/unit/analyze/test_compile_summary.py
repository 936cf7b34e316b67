"""What torch.compile did, from marks and kernel names with known answers."""

from __future__ import annotations

import pytest

from sonde.analyze.recording.compile_summary import compile_summary, fused_operators
from sonde.store import build
from sonde.views.compile import TABLES
from tests.fixtures.compiled_run import MS, compiled_run


@pytest.mark.parametrize(
    ("kernel", "operators"),
    [
        ("triton_poi_fused_add_mul_0", ["add", "mul"]),
        ("triton_red_fused_native_layer_norm_12", ["native_layer_norm"]),
        ("cpp_fused_add_relu_threshold_backward_0", ["add", "relu", "threshold_backward"]),
        ("triton_per_fused__to_copy_sum_3", ["to_copy", "sum"]),
        ("ampere_sgemm_128x64_nn", []),
    ],
)
def test_a_generated_name_tells_its_operators(kernel: str, operators: list[str]) -> None:
    assert fused_operators(kernel) == operators


def test_compile_time_breaks_recompiles_and_kernels() -> None:
    recording = compiled_run()
    found = compile_summary(*(recording.table(name) for name in TABLES))
    assert (found.span_ns, found.compile_ns) == (1000 * MS, 160 * MS)  # 100..200 and 150..260 overlap
    assert [r.compile_id for r in found.recompiles] == ["0/1"]
    assert [(b.line, b.count) for b in found.breaks] == [(7, 2)]
    (only,) = found.kernels
    assert (only.fused, only.lines, only.time_ns, only.samples) == (["aten::add"], ["/me/a.py:3"], 10 * MS, 1)


def test_kernels_of_a_trace_are_told_by_their_names() -> None:
    names = ["triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0", "sgemm"]
    kernels = build.table("kernels", kernel=range(3), start_ns=[0, 10, 20], end_ns=[4, 15, 99], name=names)
    tables = [build.empty(n) for n in ("marks", "processes", "samples", "stacks", "frames")]
    (only,) = compile_summary(*tables, kernels).kernels
    assert (only.fused, only.time_ns, only.samples, only.provenance) == (["add", "mul"], 9, 2, "name")
