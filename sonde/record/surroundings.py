"""What the recording keeps of its surroundings: variables that steer speed, and versions.

Only variables that are known to matter are kept: an environment often holds
secrets, and a recording is made to be sent.
"""

from __future__ import annotations

import os
import platform
import time

from sonde.redact import hide_environment

KEPT_PREFIXES = (
    "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "MKLDNN_", "TORCH", "PYTORCH_",
    "ATEN_", "CUDA_", "HIP_", "ROCR_", "NCCL_", "GLOO_", "MALLOC_", "JEMALLOC", "TCMALLOC_", "GLIBC_TUNABLES",
    "LD_PRELOAD", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONMALLOC", "PYTHONUNBUFFERED", "MXNET_", "XLA_",
    "RANK", "LOCAL_RANK", "WORLD_SIZE",
)  # fmt: skip


def kept_environment(environment: dict[str, str]) -> dict[str, str]:
    """The variables that steer speed, sorted, without secret values."""
    return hide_environment({k: v for k, v in sorted(environment.items()) if k.startswith(KEPT_PREFIXES)})


def machine_facts() -> dict[str, object]:
    """Enough to tell two machines apart; `sonde check` knows far more."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_1m": os.getloadavg()[0],
    }


def epoch_offset() -> tuple[int, int]:
    """(epoch − CLOCK_MONOTONIC, uncertainty) in ns: the tightest of a few readings."""
    best: tuple[int, int] | None = None
    for _ in range(8):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        reading = (wall - (before + after) // 2, (after - before) // 2 + 1)
        if best is None or reading[1] < best[1]:
            best = reading
    assert best is not None
    return best


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith(("model name", "Model")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
