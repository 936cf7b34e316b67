"""Kinds of host calls by name, over all runtimes and drivers."""

from __future__ import annotations

import pytest

from sonde.ingest.kineto.launch_kind import kind_of


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
