"""Classes of device work by name: every communication library, and look-alikes that are none."""

from __future__ import annotations

import pytest

from sonde.importers.kernel_class import class_of
from sonde.importers.launch_kind import kind_of


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long)",
        "ncclSymkDevKernel_AllReduce_AGxLL_R(ncclSymkDevWorkArgs4K)",
        "void dpsk::ep::internode::dispatch<false, 8>(int4*)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(void)",
        "mscclKernel_Sum_half_Simple_true",
        "void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>(RankData*)",
        "hccl_all_reduce",
        "nvshmemi_proxy_quiet",
        "oneccl_allreduce_small<float>",
    ],
)
def test_communication(name: str) -> None:
    assert class_of(name, "kernel") == "communication"


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4>(int)",
        "ampere_sgemm_128x64_tn",
        "triton_red_fused_native_layer_norm_0",
        "void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)",
        "void splitKreduce_kernel<32, 16>(cublasSplitKParams)",
    ],
)
def test_compute(name: str) -> None:
    assert class_of(name, "kernel") == "compute"


def test_kinds_decide_over_names() -> None:
    assert class_of("Memcpy HtoD (Pageable -> Device)", "memcpy") == "copy"
    assert class_of("dma_request", "memcpy") == "copy"
    assert class_of("Stream Wait Event", "sync") == "sync"
    assert class_of("nccl:all_reduce", "annotation") is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", "launch"),
        ("cudaLaunchKernelExC", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("hipExtModuleLaunchKernel", "launch"),
        ("cudaGraphLaunch", "graph"),
        ("hipGraphLaunch", "graph"),
        ("cudaMemcpyAsync", "copy"),
        ("hipMemcpyWithStream", "copy"),
        ("cudaMemsetAsync", "set"),
        ("cudaDeviceSynchronize", "sync"),
        ("cudaStreamWaitEvent", "sync"),
        ("cudaEventRecordWithFlags", "event"),
        ("cudaMalloc", "allocate"),
        ("cudaHostAlloc", "allocate"),
        ("cudaFuncGetAttributes", "other"),
    ],
)
def test_host_calls(name: str, kind: str) -> None:
    assert kind_of(name) == kind
