"""Instruction sets by the names of kernels, as real recordings hold them; time adds up to what ran."""

from __future__ import annotations

import pytest

from sonde.analyze.samples.kernels_seen import kernel_of, kernels_seen
from sonde.columns import Table, Text
from sonde.store import build

LOOP = (
    "void c10::function_ref<void (char**, long const*, long, long)>::callback_fn<"
    "at::native::AVX2::VectorizedLoop2d<at::native::(anonymous namespace)::add_kernel"
    "(at::TensorIteratorBase&)::{lambda()#1}> >(long, char**)"
)


@pytest.mark.parametrize(
    ("layer", "name", "full", "wanted"),
    [
        ("native", "c10::function_ref::callback_fn", LOOP, ("ATen", "AVX2")),
        (
            "native",
            "at::native::DEFAULT::vectorized_loop",
            "void at::native::DEFAULT::vectorized_loop<…>(char**)",
            ("ATen", "DEFAULT"),
        ),
        ("native", "x", "at::vec::AVX512::Vectorized<float>::exp() const", ("ATen", "AVX512")),
        ("jit", "jit_avx2_conv_fwd_kernel_f32_t.0", "", ("oneDNN", "avx2")),
        ("jit", "jit_sse41_kernel_b0_sgemm_kern_t.12", "", ("oneDNN", "sse41")),
        ("jit", "jit_avx512_core_amx_copy_kern.1", "", ("oneDNN", "avx512_core_amx")),
        ("jit", "jit_avx512_core_bf16_fwd_kernel.1", "", ("oneDNN", "avx512_core_bf16")),
        ("jit", "jit_brgemm_kernel_t.1", "", ("oneDNN", None)),
        (
            "native",
            "e",
            "dnnl::impl::cpu::x64::jit_avx2_convolution_fwd_t::execute_forward()",
            ("oneDNN", "avx2"),
        ),
        ("native", "dnnl::impl::primitive_desc_t::create", "dnnl::impl::primitive_desc_t::create()", None),
        ("native", "mkl_blas_def_dgemm_kernel_zen", "", ("MKL", "def")),
        ("native", "mkl_blas_avx512_sgemm_kernel_0", "", ("MKL", "avx512")),
        ("native", "mkl_blas_dgemm_omp_driver_v1", "", None),
        ("native", "mkl_vml_kernel_sExp_L9HAynn", "", ("MKL VML", "L9")),
        ("native", "sgemm_kernel_HASWELL", "", ("OpenBLAS", "HASWELL")),
        ("native", "Sleef_finz_expf8_u10avx2", "", ("SLEEF", "avx2")),
        ("python", "jit_avx2_of_mine", "", None),
        ("native", "AVX2_is_my_function", "my::AVX2::run()", None),
    ],
)
def test_a_kernel_tells_its_set(layer: str, name: str, full: str, wanted: object) -> None:
    assert kernel_of(layer, name, full or name) == wanted


#  main ─ LOOP ─ Sleef ;  LOOP ─ page_fault ;  main ─ jit.0, jit.1
def tables() -> tuple[Table, Table, Table]:
    names = [
        "main",
        "c10::function_ref::callback_fn",
        "Sleef_expf8_u10avx2",
        "page_fault",
        "jit_avx2_k.0",
        "jit_avx2_k.1",
    ]
    frames = build.table(
        "frames",
        frame=range(6),
        layer=Text.of(["native", "native", "native", "kernel", "jit", "jit"]),
        name=Text.of(names),
        full_name=Text.of([names[0], LOOP, *names[2:]]),
    )
    stacks = build.table(
        "stacks", stack=range(6), parent=[-1, 0, 1, 1, 0, 0], frame=range(6), depth=[1, 2, 3, 3, 2, 2]
    )
    samples = build.table(
        "samples",
        stack=[0, 1, 2, 3, 4, 5, 3, -1],
        weight_ns=[1, 2, 4, 8, 16, 32, 64, 128],
        state=Text.of(["running"] * 6 + ["waiting", "running"]),
    )
    return frames, stacks, samples


def test_time_goes_to_the_innermost_kernel_and_adds_up() -> None:
    ran = kernels_seen(*tables())
    assert [(r.library, r.isa, r.cpu_ns, r.samples, r.heaviest) for r in ran.rows] == [
        ("oneDNN", "avx2", 48, 2, "jit_avx2_k"),
        ("ATen", "AVX2", 10, 2, "add_kernel"),  # its own time and the page fault inside it
        ("SLEEF", "avx2", 4, 1, "Sleef_expf8_u10avx2"),
    ]
    assert ran.running_ns == 191  # waiting is left out; a sample without a stack still ran
    assert ran.elsewhere_ns == 129
