"""Rules about devices and ranks: a trace in which each fires, and one that differs in its cause alone."""

from __future__ import annotations

from dataclasses import replace

from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.fixtures.made_job import made_job
from tests.unit.insights.pairs.recordings import Event, trace

GB = 1 << 30
# One product that keeps the device busy for the whole step, launched in time.
BUSY = Event("aten::mm", 0, 40, "ampere_h16816gemm_128x128", 50, 9900)
LATE = Event("aten::mm", 5000, 40, "ampere_h16816gemm_128x128", 5050, 4000)
COPY = Event(
    "aten::to",
    0,
    40,
    "Memcpy HtoD (Pageable -> Device)",
    50,
    3000,
    "memcpy",
    "copy",
    "cudaMemcpyAsync",
    "copy",
)
FILL = Event("aten::zeros", 100, 400, call="")
MOVE = Event("aten::to", 600, 500, "Memcpy HtoD (Pinned -> Device)", 1200, 50, "memcpy", "copy", "cudaMemcpyAsync",
             "copy")  # fmt: skip
AFTER = Event("aten::mm", 1300, 40, "ampere_h16816gemm_128x128", 1400, 8500)
SYNC = Event("aten::item", 200, 2900, call="cudaStreamSynchronize", call_kind="sync")
REDUCE = Event(
    "c10d::allreduce_", 0, 40, "ncclDevKernel_AllReduce_Sum_f32", 50, 5000, work="communication", stream=9
)
LOADER = Event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 4900, call="")
MALLOC = Event("aten::empty", 0, 500, call="cudaMalloc", call_kind="allocate")
OFF = ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"]
ON = [*OFF[:6], "True", *OFF[7:]]
HALF = ("c10::Half", "c10::Half")


def many(name: str, count: int, apart_us: int, each_us: int) -> list[Event]:
    """Short kernels that were all launched at the beginning of the step."""
    return [Event("aten::mul", 3 * i, 2, name, 500 + apart_us * i, each_us) for i in range(count)]


def convolution(inputs: list[str]) -> Recording:
    return trace(
        Event(
            "aten::cudnn_convolution",
            0,
            40,
            "implicit_convolve_sgemm",
            50,
            9800,
            inputs=inputs,
            shapes=[[8, 3, 64, 64]],
        )
    )


def product(*shape: int) -> Recording:
    left, right = [shape[0], shape[1]], [shape[1], shape[2]]
    return trace(replace(BUSY, shapes=[left, right], dtypes=HALF))


def rank(late_us: int) -> list[Event]:
    """A rank whose host launches its part of the reduction so much later; the reduction ends on all together."""
    work = Event("aten::mm", 0, 40, "ampere_h16816gemm_128x128", 50, 3000)
    begin = 4000 + late_us
    return [work, replace(REDUCE, at=begin - 20, lasts=15, device_at=begin, device_us=9000 - begin, stream=7)]


def job(late_ms: float) -> Recording:
    """Two ranks on CPUs, the second of them so much later at every collective."""
    made = made_job(2, 30, lambda rank, step: 20.0 + late_ms * rank)
    return Recording(Meta(source="run", program="job.py"), made)


PAIRS = {
    "late_rank": (lambda: job(15.0), lambda: job(0.0)),
    "host_bound_gpu": (lambda: trace(LATE), lambda: trace(BUSY)),
    "kernel_gaps": (
        lambda: trace(*many("ampere_h16816gemm", 90, 100, 80)),
        lambda: trace(*many("ampere_h16816gemm", 90, 100, 99)),
    ),
    "pointwise_kernels": (
        lambda: trace(*many("vectorized_elementwise_kernel", 90, 100, 99)),
        lambda: trace(*many("triton_poi_fused_add_0", 90, 100, 99)),
    ),
    "host_sync": (
        lambda: trace(replace(BUSY, device_us=2950), SYNC, LATE),
        lambda: trace(BUSY, replace(SYNC, lasts=500)),
    ),
    "pageable_copies": (
        lambda: trace(COPY, replace(BUSY, device_at=3100, device_us=6800)),
        lambda: trace(
            replace(COPY, kernel="Memcpy HtoD (Pinned -> Device)"), replace(BUSY, device_at=3100, device_us=6800)
        ),
    ),
    "constant_moved": (lambda: trace(FILL, MOVE, AFTER), lambda: trace(replace(FILL, op="aten::relu"), MOVE, AFTER)),
    "device_allocation": (lambda: trace(MALLOC, LATE), lambda: trace(replace(MALLOC, call_kind="other"), LATE)),
    "fragmentation": (
        lambda: trace(BUSY, reserved=39 * GB, allocated=30 * GB),
        lambda: trace(BUSY, reserved=39 * GB, allocated=38 * GB),
    ),
    "cudnn_benchmark": (lambda: convolution(OFF), lambda: convolution(ON)),
    "gpu_input": (lambda: trace(LOADER, LATE), lambda: trace(replace(LOADER, op="aten::sort"), LATE)),
    "tensor_cores_unused": (
        lambda: trace(replace(BUSY, kernel="ampere_sgemm_128x64_nn")),
        lambda: trace(BUSY),
    ),
    "misaligned_gemm": (lambda: product(127, 515, 333), lambda: product(128, 512, 336)),
    "exposed_communication": (
        lambda: trace(REDUCE, replace(BUSY, device_at=5100, device_us=4800)),
        lambda: trace(REDUCE, BUSY),
    ),
    "straggler": (
        lambda: trace(ranks=[rank(0), rank(2500)]),
        lambda: trace(ranks=[rank(0), rank(0)]),
    ),
}  # fmt: skip
