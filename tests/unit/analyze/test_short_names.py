"""Kernel names for people."""

from __future__ import annotations

import pytest

from sonde.analyze.device.short_names import LONGEST, short_name

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{}, at::detail::Array<char*, 2> >(int)"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (ELEMENTWISE.format("CUDAFunctor_add<c10::Half>"), "add fp16"),
        (
            ELEMENTWISE.format(
                "AUnaryFunctor<c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >"
            ),
            "mul bf16",
        ),
        (ELEMENTWISE.format("GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda(float)#1}"), "gelu fp32"),
        (ELEMENTWISE.format("threshold_kernel_impl<float>(at::TensorIteratorBase&)"), "threshold fp32"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "gemm bf16 128x128"),
        ("volta_sgemm_32x128_nn", "gemm fp32 32x128"),
        ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "conv winograd fp32 128x128"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long)", "AllReduce bf16"),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Traits<32, cutlass::bfloat16_t> >",
            "flash_fwd bf16",
        ),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, 512>(float)", "bn_fw_tr_1C11_kernel_NCHW"),
        ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_3"),
        ("my_kernel", "my_kernel"),
        ("", ""),
    ],
)
def test_a_name_is_told_in_a_few_words(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    "name", ["x" * 3000, "void " + "a<" * 500, ">>>>((((", "void ::", "at::native::reduce_kernel"]
)
def test_hostile_names_stay_short_and_are_not_empty(name: str) -> None:
    assert 0 < len(short_name(name)) <= LONGEST or short_name(name) == name
