"""What a device activity is for, by its name: compute, communication, copy or sync.

One table of name patterns, so that a new communication library is one line. A
name says less than a link: kernels that belong to a collective by their
arguments or by their operator are communication whatever they are called.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Each pattern names a library whose kernels move data between ranks.
COMMUNICATION = (
    r"^nccl",  # ncclKernel_AllReduce_…, ncclDevKernel_…, ncclSymkDevKernel_…
    r"^rccl",
    r"^mscclKernel|^mscclpp",
    r"\bdpsk::ep::|\bdeep_ep::|\binternode(_ll)?::|\bintranode::",  # DeepEP, expert parallel
    r"nvshmem|^rocshmem",
    r"^oneccl|\boneccl_|^ccl::|ccl_kernel",
    r"^hccl|^hcom_",  # MTIA and Ascend
    r"c10d::symmetric_memory|symm_mem|(one|two)_shot_all_reduce|multimem_",
    r"cross_device_reduce|custom_ar|allreduce_kernel|all_reduce_kernel|quick_all_reduce",  # vLLM, sglang
    r"all_?to_?all|all_?gather|reduce_?scatter",
    r"^gloo:",
)
COPY = (r"^Memcpy", r"^Memset", r"^dma", r"^CopyHostToDevice|^CopyDeviceToHost|^CopyDeviceToDevice")
SYNC = (
    r"^event_wait$|^event_record$",  # MTIA
    r"Synchroni[sz]e|^Stream Wait Event|^Event Sync|^Stream Sync|^Context Sync|^Device Sync",
)

_COMMUNICATION = re.compile("|".join(COMMUNICATION), re.IGNORECASE)
_COPY = re.compile("|".join(COPY))
_SYNC = re.compile("|".join(SYNC))


@lru_cache(maxsize=65536)  # ranks of a job share their names
def class_of(name: str, kind: str) -> str | None:
    """The class of an activity of `kind`; None for annotations, which are no work."""
    if kind == "annotation":
        return None
    if kind in ("memcpy", "memset"):
        return "copy"
    if kind == "sync":
        return "sync"
    if _COMMUNICATION.search(name):
        return "communication"
    if _COPY.search(name):
        return "copy"
    return "sync" if _SYNC.search(name) else "compute"
