"""What torch.compile did, from marks and kernel names with known answers."""

from __future__ import annotations

import json

import pytest

from sonde.analyze.recording.compile_summary import compile_summary, fused_operators
from sonde.columns import Text
from sonde.store import build


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
    kernel = {
        "kernel": "cpp_fused_add_0",
        "direction": "forward",
        "fused": ["aten::add"],
        "provenance": "compiler",
    }
    kernel |= {"sources": [{"file": "/me/a.py", "line": 3}]}
    extras = [
        {"compile_id": "0/0", "file": "/me/a.py", "line": 1, "ops": 5, "cache_misses": 1},
        {"compile_id": "0/1", "recompile_reason": "tensor 'x' size mismatch", "cache_hits": 2},
        {"reason": "Tensor.item()", "file": "/me/a.py", "line": 7},
        {"reason": "Tensor.item()", "file": "/me/a.py", "line": 7},
        kernel,
    ]
    marks = build.table(
        "marks",
        mark=range(5),
        process=[0] * 5,
        kind=["compile"] * 5,
        name=["forward", "forward", "graph_break", "graph_break", "kernel"],
        start_ns=[100, 150, 0, 0, 0],
        end_ns=[200, 260, 0, 0, 0],
        extra=[json.dumps(e) for e in extras],
    )
    processes = build.table("processes", process=[0], start_ns=[0], end_ns=[1000])
    frames = build.table("frames", frame=[0], layer=Text.of(["native"]), name=Text.of(["cpp_fused_add_0"]))
    stacks = build.table("stacks", stack=[0], parent=[-1], frame=[0], depth=[1])
    samples = build.table("samples", stack=[0, 0], weight_ns=[10, 99], state=Text.of(["running", "waiting"]))
    found = compile_summary(marks, processes, samples, stacks, frames, build.empty("kernels"))
    assert (found.span_ns, found.compile_ns) == (1000, 160)  # 100..200 and 150..260 overlap
    assert [r.compile_id for r in found.recompiles] == ["0/1"]
    assert [(b.line, b.count) for b in found.breaks] == [(7, 2)]
    (only,) = found.kernels
    assert (only.fused, only.lines, only.time_ns, only.samples) == (["aten::add"], ["/me/a.py:3"], 10, 1)


def test_kernels_of_a_trace_are_told_by_their_names() -> None:
    names = ["triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0", "sgemm"]
    kernels = build.table("kernels", kernel=range(3), start_ns=[0, 10, 20], end_ns=[4, 15, 99], name=names)
    tables = [build.empty(n) for n in ("marks", "processes", "samples", "stacks", "frames")]
    (only,) = compile_summary(*tables, kernels).kernels
    assert (only.fused, only.time_ns, only.samples, only.provenance) == (["add", "mul"], 9, 2, "name")
