"""Kernels for another instruction set are the same function."""

from __future__ import annotations

from sonde.compare.variants import cpu_kernel, has_variants, variant_names

DEFAULT = "at::native::DEFAULT::VectorizedLoop2d<add>::operator() (libtorch_cpu.so)"
AVX2 = DEFAULT.replace("DEFAULT", "AVX2")
AVX512 = DEFAULT.replace("DEFAULT", "AVX512")


def test_variants_of_one_function_get_one_name_that_says_so() -> None:
    found = variant_names({DEFAULT, "gemm"}, {AVX2, "gemm"})
    assert set(found) == {DEFAULT, AVX2}
    assert set(found.values()) == {
        "at::native::VectorizedLoop2d<add>::operator() (libtorch_cpu.so) [DEFAULT → AVX2]"
    }


def test_equal_variants_keep_their_names_and_functions_of_one_side_too() -> None:
    assert variant_names({AVX2}, {AVX2}) == {}
    assert variant_names({AVX2, AVX512}, {AVX2, AVX512}) == {}
    assert variant_names({AVX2}, {"gemm"}) == {}


def test_several_variants_on_one_side_are_added_up() -> None:
    found = variant_names({DEFAULT, AVX512}, {AVX2})
    assert len(set(found.values())) == 1
    assert "[AVX512 and DEFAULT → AVX2]" in found[DEFAULT]


def test_every_part_of_a_kernels_loop_has_the_kernels_name() -> None:
    inner = "at::native::(anonymous namespace)::add_kernel(at::TensorIteratorBase&, c10::Scalar const&)::{lambda()#1}"
    loop = f"void at::native::DEFAULT::vectorized_loop<{inner}>(char**, long, long)"
    call = f"void c10::function_ref<void (char**, long)>::callback_fn<at::native::AVX2::VectorizedLoop2d<{inner}>>"
    assert cpu_kernel(loop) == "at::native::DEFAULT::add_kernel"
    assert cpu_kernel(call) == "at::native::AVX2::add_kernel"
    found = variant_names({cpu_kernel(loop) or ""}, {cpu_kernel(call) or ""})
    assert set(found.values()) == {"at::native::add_kernel [DEFAULT → AVX2]"}
    assert (
        cpu_kernel("at::native::AVX2::copy_kernel(at::TensorIterator&, bool)")
        == "at::native::AVX2::copy_kernel"
    )
    helper = "at::vec::DEFAULT::Vectorized<float> at::native::(anonymous namespace)::lerp_vec<float>(float)"
    assert (cpu_kernel(helper), has_variants(helper)) == (None, True)
    assert (cpu_kernel("mkl_blas_sgemm"), cpu_kernel(None), has_variants(None)) == (None, None, False)
