"""Rules that look at operator calls with their shapes, and at the kernels that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, GEMM, LOOP, MODEL, UPDATE, Spent, line, op
from tests.unit.insights.pairs.host import native
from tests.unit.insights.pairs.recordings import Call, made
from tests.unit.insights.pairs.windows import told

MILLION = [[1024, 1024], [1024, 1024]]
AMX = {"cpu_flags": ["avx512f", "amx_bf16"], "threads": 2, "float32_matmul_precision": "highest"}


def pointwise(*sizes: int) -> Recording:
    """Additions one after the other, of these numbers of elements."""
    calls = [Call("aten::add", 3 * i, 3, shapes=[[n], [n]]) for i, n in enumerate(sizes)]
    return made(Spent(9, 20, (op("aten::add"), LOOP), "forward"), BACKWARD, calls=calls)


def rows_of(batch: int) -> Recording:
    """Products of so many rows, below far more Python than arithmetic."""
    calls = [Call("aten::addmm", 0, 1, shapes=[[64], [batch, 128], [128, 64]])]
    return made(Spent(1, 20, MODEL.frames, "forward"), Spent(12, 20, (line(30),), "forward"), calls=calls)


def indexing(count: int) -> Recording:
    calls = [Call("aten::select", 17 + 0.1 * i, 0.05, line=25) for i in range(count)]
    return made(MODEL, BACKWARD, UPDATE, Spent(6, 25, (op("aten::select"),)), calls=calls)


def copies(strides: Sequence[Any]) -> Recording:
    calls = [Call("aten::contiguous", 0, 8, shapes=[[512, 512]], strides=strides)]
    return made(Spent(8, 20, (op("aten::contiguous"), LOOP), "forward"), BACKWARD, calls=calls)


def typed(dtype: str, **says: Any) -> Recording:
    calls = [Call("aten::mm", 0, 6, shapes=MILLION, dtypes=[dtype, dtype])]
    return made(Spent(6, 20, (op("aten::mm"), GEMM), "forward"), BACKWARD, calls=calls, says=says)


def attention(columns: int) -> Recording:
    """Product, scaling, softmax over so many columns, product."""
    scores = [[8, 128, columns]]
    names = ("aten::bmm", "aten::mul", "aten::softmax", "aten::bmm")
    calls = [Call(name, 2 * i, 2, shapes=scores) for i, name in enumerate(names)]
    return made(Spent(8, 20, (op("aten::softmax"), LOOP), "forward"), BACKWARD, calls=calls)


def roof(peak: float) -> Recording:
    """A product of 1 GFLOP in 10 ms, on a machine with this peak."""
    rate = {"threads": 2, "median": 1.0, "samples": 30}
    roofs = {"format": 1, "machine": "x", "when": "", "source": "native", "seconds": 1.0,
             "peaks": [{"name": "f32", "best": peak, **rate}],
             "bandwidths": [{"name": "memory", "best": 1e12, **rate}]}  # fmt: skip
    calls = [Call("aten::mm", 0, 10, shapes=MILLION, dtypes=["float", "float"], flops=1e9, bytes=1e6)]
    product = Spent(10, 20, (op("aten::mm"), GEMM), "forward")
    return made(product, BACKWARD, calls=calls, says={"threads": 2}, machine={"cpus": 8, "roofs": roofs})


def convolutions(bias: list[int]) -> Recording:
    shapes = [[8, 16, 64, 64], [16, 16, 3, 3], bias]
    calls = []
    for at in (0, 4, 8):
        calls.append(Call("aten::conv2d", at, 2, shapes=shapes))
        calls.append(Call("aten::batch_norm", at + 2, 1, shapes=[[8, 16, 64, 64]], inputs=["", "True"]))
    return made(MODEL, BACKWARD, calls=calls)


def embedding(vocabulary: int) -> Recording:
    calls = [
        Call(
            "aten::embedding_dense_backward", 6, 5, shapes=[[32, 64], [32]], inputs=["", "", str(vocabulary)]
        )
    ]
    gradient = Spent(5, 21, (op("aten::embedding_dense_backward"), LOOP), "backward")
    return made(MODEL, gradient, BACKWARD, calls=calls)


def tiny(flush: bool) -> Recording:
    """A product of a million numbers that takes 10 ns for each."""
    calls = [
        Call("aten::mul", 0, 10, shapes=MILLION, dtypes=["float", "float"], strides=[[1024, 1], [1024, 1]])
    ]
    product = Spent(10, 20, (op("aten::mul"), LOOP), "forward")
    return made(product, BACKWARD, calls=calls, says={"flush_denormal": flush})


def sparse(zeros: float) -> Recording:
    """A product with a matrix of which so many numbers are zero."""
    calls = [Call("aten::mm", 0, 6, shapes=[[512, 512], [512, 64]])]
    product = Spent(6, 20, (op("aten::mm"), GEMM), "forward")
    sample = told(
        "values", 20, operand="adjacency", shape=[512, 512], zeros=zeros, denormal=0, looked=1024, same=True
    )
    return made(product, BACKWARD, calls=calls, marks=sample)


def spent_in(name: str, operator: str = "aten::mkldnn_convolution") -> Recording:
    return made(MODEL, Spent(10, 20, (op(operator), native(name)), "forward"), BACKWARD)


def capped(word: str) -> Recording:
    return made(
        MODEL, BACKWARD, says={"cpu_flags": ["avx2", "avx512f"]}, environment={"ATEN_CPU_CAPABILITY": word}
    )


def precise(flags: list[str]) -> Recording:
    calls = [Call("aten::addmm", 0, 6, shapes=MILLION, dtypes=["float", "float"])]
    return made(MODEL, BACKWARD, calls=calls, says={**AMX, "cpu_flags": flags})


PAIRS = {
    "small_op_chains": (lambda: pointwise(1 << 20, 1 << 20, 1 << 20), lambda: pointwise(1 << 20, 1 << 19, 1 << 18)),
    "overhead_bound": (lambda: rows_of(1), lambda: rows_of(64)),
    "loop_indexing": (lambda: indexing(12), lambda: indexing(2)),
    "noncontiguous_copies": (lambda: copies([[1, 512]]), lambda: copies([[512, 1]])),
    "fp64_by_accident": (lambda: typed("double"), lambda: typed("float")),
    "bf16_without_hardware": (
        lambda: typed("c10::BFloat16", cpu_flags=["avx2"]),
        lambda: typed("c10::BFloat16", cpu_flags=["avx2", "avx512_bf16"]),
    ),
    "fp32_precision": (lambda: precise(["avx512f", "amx_bf16"]), lambda: precise(["avx512f", "avx512_bf16"])),
    "unfused_attention": (lambda: attention(128), lambda: attention(16)),
    "far_from_floor": (lambda: roof(1e12), lambda: roof(1.5e11)),
    "roofline_outlier": (lambda: roof(50e12), lambda: roof(1e11)),
    "conv_bias": (lambda: convolutions([16]), lambda: convolutions([])),
    "dense_embedding_gradient": (lambda: embedding(100_000), lambda: embedding(100)),
    "denormals": (lambda: tiny(False), lambda: tiny(True)),
    "mostly_zeros": (lambda: sparse(0.99), lambda: sparse(0.9)),
    "isa_capped": (lambda: capped("avx2"), lambda: capped("avx512")),
    "reference_kernels": (
        lambda: spent_in("dnnl::impl::cpu::ref_convolution_fwd_t::execute_forward"),
        lambda: spent_in("dnnl::impl::cpu::ref_rnn_fwd_t::cell_execution", "aten::mkldnn_rnn_layer"),
    ),
    "reorders": (lambda: spent_in("jit_uni_reorder_kernel"), lambda: spent_in("jit_avx512_core_brgemm_conv")),
    "primitive_creation": (
        lambda: spent_in("dnnl_primitive_create"),
        lambda: spent_in("dnnl_primitive_execute"),
    ),
}  # fmt: skip
