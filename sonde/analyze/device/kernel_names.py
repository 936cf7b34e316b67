"""What the name of a device event tells: its class, whether tensor cores ran it, who generated it.

Enters: the name and kind of a row of `kernels`. Leaves: a class (compute, communication,
copy, sync), a flag, an origin. Names are the only evidence that every vendor and every
version of the profiler gives, so the rules are lists of known names, with their source.
All work is per distinct name, and remembered: a million kernels of many ranks have some hundred names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sonde.columns import Table, Text

CLASSES = ("compute", "communication", "copy", "sync")
COMPUTE, COMMUNICATION, COPY, SYNC = range(4)
ANNOTATION = -1  # spans drawn on a stream for people; no work of the device
_UNTOLD = -2

# Each line names a library whose kernels move data between ranks, so a new one is one line. A word that
# others' names may end in ("small_gather") must begin there.
_COMMUNICATION = re.compile(
    "|".join(
        (
            r"^(void )?(nccl|rccl|mscclpp|msccl|hccl|hcom_|oneccl|ccl_|ccl::|gloo:)",
            r"nccl(Dev|Kernel|Symk)|rccl_?(Dev|Kernel|Generic)|\boneccl_|ccl_kernel",
            r"nvshmem|rocshmem",
            r"deep_ep|\b(dpsk|flux)::ep::|\binternode(_ll)?::|\bintranode::",  # DeepEP and its kin
            r"c10d::symmetric_memory|symm_mem|(one|two)[_-]?shot[_-]?all[_-]?reduce|allreduce_(one|two)shot|multimem_",
            r"cross_device_reduce|custom_ar(?![a-z])|quick_?(all_?)?reduce|userbuffers_",  # vLLM, sglang, TE
            r"(?<![a-z])all_?reduce_(kernel|fusion)|barrier_all_ranks",  # TensorRT-LLM, AITER
            r"(?<![a-z])all_?to_?all|(?<![a-z])all_?gather|reduce_?scatter",
        )
    ),
    re.IGNORECASE,
)
# Work of copy engines that a profiler files under kernels.
_COPY = re.compile(
    r"^(Memcpy|Memset|dma|CopyDeviceTo|CopyHostTo|CopyDevice|FillBuffer|__amd_rocclr_(copy|fill))"
)
_SYNC = re.compile(
    r"^(event_wait|event_record)$|Synchroni[sz]e|^(Stream|Event|Context|Device) Sync|^Stream Wait Event"
)

# Instruction shapes and library names that only tensor-core kernels carry: the list of the TensorBoard
# plugin (from PyProf), then the names of Ampere and later, then matrix-core names of CDNA.
TENSORBOARD_TENSOR_CORES = (
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel", "conv1x1", "conv2d_c1_k1", "direct_group", "xmma_implicit_gemm",
    "xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm", "xmma_gemm", "xmma_sparse_gemm", "c1688",
)  # fmt: skip
_TENSOR_CORES = re.compile(
    r"tensorop|wgmma|gmma|[0-9]mma|_mma_|\bmma_|bf16gemm|flash_(fwd|bwd)|fmha_cutlass.*_(f16|bf16|fp16)"
    r"|sm(80|86|89|90|100|120)_xmma|nvjet_|tcgen05|mfma|MT[0-9]+x[0-9]+x[0-9]+_MI",
    re.IGNORECASE,
)
_TRITON = re.compile(r"^triton_(poi|red|per|tem|unk|for|mm|bmm|conv|fused)_?|^triton_")
_INDUCTOR = re.compile(r"^triton_(poi|red|per|tem|unk|for)_fused_(?P<origins>.+?)_(?P<index>\d+)(d\w*)?$")


@lru_cache(maxsize=65536)  # ranks of a job share their names
def class_of(name: str, kind: str) -> str | None:
    """The class of a device event of `kind` by its name; None for annotations, which are no work.

    A name says less than a link: the importer knows kernels that belong to a collective by their
    arguments or their operator, and writes `communication` whatever they are called.
    """
    if kind == "annotation":
        return None
    if kind in ("memcpy", "memset"):
        return "copy"
    if kind == "sync" or _SYNC.search(name):
        return "sync"
    if _COMMUNICATION.search(name):
        return "communication"
    return "copy" if _COPY.match(name) else "compute"


@lru_cache(maxsize=65536)
def uses_tensor_cores(name: str) -> bool:
    """Whether the name says that tensor or matrix cores did the work. A name without a sign says no."""
    return any(part in name for part in TENSORBOARD_TENSOR_CORES) or bool(_TENSOR_CORES.search(name))


@lru_cache(maxsize=65536)
def origin_of(name: str) -> str:
    """Who made the kernel: inductor, triton, cudnn, cublas, cutlass, flash, nccl, rocm or aten."""
    low = name.lower()
    if _INDUCTOR.match(name):
        return "inductor"
    if _TRITON.match(name):
        return "triton"
    for word, origin in (
        ("cudnn", "cudnn"), ("cask_", "cudnn"), ("implicit_convolve", "cudnn"), ("flash", "flash"),
        ("fmha", "flash"), ("at::native", "aten"), ("nccl", "nccl"), ("rccl", "nccl"), ("cublas", "cublas"),
        ("nvjet", "cublas"), ("gemv", "cublas"), ("cutlass", "cutlass"), ("_gemm", "cublas"),
        ("sgemm", "cublas"),
        ("cijk_", "rocm"), ("miopen", "rocm"), ("ck::", "rocm"), ("aiter", "rocm"),
    ):  # fmt: skip
        if word in low:
            return origin
    return "other"


def fused_operators(name: str) -> tuple[str, ...]:
    """The operators an Inductor kernel fuses, as its name lists them; () for any other kernel.

    Inductor joins names by "_" and names hold "_" themselves, so a leading underscore
    ("__unsafe_view") starts a private operator; the split is by single underscores of
    known words only where it is unambiguous, else the whole text is one entry.
    """
    match = _INDUCTOR.match(name)
    if not match:
        return ()
    return tuple(re.findall(rf"(?:(?<=_)_|^_)?[a-z0-9]+(?:_(?:{_SUFFIXES}))*", match["origins"]))


# Second words of ATen names, which must stay with the first: native_layer_norm, _to_copy, threshold_backward…
_SUFFIXES = (
    "copy|norm|view|backward|softmax|dot|product|attention|data|like|mean|entropy|loss|forward|min|max"
    "|scatter|gather|select|index|put|group|batch|layer|legit|no|training|functional|dropout|log|impl|prims|convert"
    "|element|type|pool2d|with|indices|inductor|seeds|random|lookup|seed|dim|int"
)


def classes(kernels: Table) -> npt.NDArray[np.int8]:
    """Class code of each row of `kernels` (index into CLASSES), ANNOTATION for annotations.

    The importer's `class` counts, which knows links as well as names; a row without one is told by its name.
    """
    told = kernels.text("class")
    table = np.array(
        [CLASSES.index(v) if v in CLASSES else _UNTOLD for v in told.values] + [_UNTOLD], np.int8
    )
    result: npt.NDArray[np.int8] = table[told.codes]
    result[kernels.text("kind").equals("annotation")] = ANNOTATION
    for row in np.flatnonzero(result == _UNTOLD).tolist():
        name, kind = kernels.text("name")[row] or "", kernels.text("kind")[row] or "kernel"
        result[row] = CLASSES.index(class_of(name, kind) or "compute")  # annotations were told above
    return result


def by_name(names: Text, test: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """Mask of the rows whose name passes a test, run once per distinct name."""
    return names.where(test(v) for v in names.values)
