"""Names of kernels seen in the wild, and what they tell."""

from __future__ import annotations

import pytest

from sonde.analyze.device.kernel_names import (
    CLASSES,
    class_of,
    classes,
    fused_operators,
    origin_of,
    uses_tensor_cores,
)
from tests.unit.analyze.synthetic import kernels


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclSymkDevKernel_AllGather_LSA",
        "rccl_main_kernel(void)",
        "void dpsk::ep::internode::dispatch<8, 7168>(int)",
        "void deep_ep::intranode::combine<__nv_bfloat16>(int)",
        "nvshmemi_transfer_rma",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)",
        "two_shot_all_reduce_kernel",
        "ncclSymkDevKernel_AllReduce_AGxLL_R(ncclSymkDevWorkArgs4K)",
        "mscclKernel_Sum_half_Simple_true",
        "hccl_all_reduce",
        "oneccl_allreduce_small<float>",
        "void trtllm::all_reduce_fusion_kernel<__half>(int)",
        "triton_all_gather_kernel",
    ],
)
def test_communication_is_told_by_every_library_s_names(name: str) -> None:
    assert class_of(name, "kernel") == "communication"


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("Memcpy HtoD (Pinned -> Device)", "memcpy", "copy"),
        ("Memset (Device)", "memset", "copy"),
        ("dma_request", "kernel", "copy"),
        ("Event Sync", "sync", "sync"),
        ("void at::native::reduce_kernel<512, 1>", "kernel", "compute"),
        ("void at::native::(anonymous namespace)::indexSelectLargeIndex<float>", "kernel", "compute"),
        ("void gather_kernel<float>", "kernel", "compute"),
        ("void indexing::small_gather<float>", "kernel", "compute"),  # looks like all_gather
        ("void custom_arange_kernel<int>", "kernel", "compute"),  # looks like custom_ar
        ("ampere_sgemm_128x64_tn", "kernel", "compute"),
        ("triton_red_fused_native_layer_norm_0", "kernel", "compute"),
        ("void splitKreduce_kernel<32, 16>(cublasSplitKParams)", "kernel", "compute"),
        ("event_wait", "kernel", "sync"),
        ("Stream Wait Event", "sync", "sync"),
        ("dma_request", "memcpy", "copy"),
        ("nccl:all_reduce", "annotation", None),
    ],
)
def test_copies_waits_and_compute_are_told_apart(name: str, kind: str, expected: str | None) -> None:
    assert class_of(name, kind) == expected


def test_classes_without_the_importer_s_word_come_from_names() -> None:
    table = kernels(
        {"start": 0, "end": 1, "name": "ncclDevKernel_AllGather"},
        {"start": 0, "end": 1, "name": "step", "kind": "annotation"},
        {"start": 0, "end": 1, "name": "Memset (Device)", "kind": "memset"},
        {"start": 0, "end": 1},
    )
    assert [CLASSES[c] if c >= 0 else None for c in classes(table)] == [
        "communication",
        None,
        "copy",
        "compute",
    ]


def test_tensor_cores_are_told_by_instruction_shapes() -> None:
    assert uses_tensor_cores("ampere_fp16_s16816gemm_fp16_128x128_ldg8_relu_f2f_stages_64x3_tn")
    assert uses_tensor_cores("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8")
    assert uses_tensor_cores("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN")
    assert not uses_tensor_cores("volta_sgemm_128x64_nn")
    assert not uses_tensor_cores("void at::native::vectorized_elementwise_kernel<4>")


def test_inductor_kernels_name_what_they_fuse() -> None:
    assert origin_of("triton_poi_fused__unsafe_view_gelu_mul_0") == "inductor"
    assert fused_operators("triton_poi_fused__unsafe_view_gelu_mul_0") == ("_unsafe_view", "gelu", "mul")
    assert fused_operators("triton_red_fused_native_layer_norm_4d5") == ("native_layer_norm",)
    assert fused_operators("volta_sgemm_128x64_nn") == ()
    assert origin_of("triton_flash_attention") == "triton"
