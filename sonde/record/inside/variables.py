"""Which variables of an environment a recording keeps.

Only those that are known to steer speed: an environment often holds secrets, and a recording is made to be sent.
"""

from __future__ import annotations

from sonde.redact import hide_environment

KEPT_PREFIXES = (
    "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "MKLDNN_", "TORCH", "PYTORCH_",
    "ATEN_", "CUDA_", "HIP_", "ROCR_", "NCCL_", "GLOO_", "MALLOC_", "JEMALLOC", "TCMALLOC_", "GLIBC_TUNABLES",
    "LD_PRELOAD", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONMALLOC", "PYTHONUNBUFFERED", "MXNET_", "XLA_",
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
)  # fmt: skip


def kept_environment(environment: dict[str, str]) -> dict[str, str]:
    """The variables that steer speed, sorted, without secret values."""
    return hide_environment({k: v for k, v in sorted(environment.items()) if k.startswith(KEPT_PREFIXES)})
