"""What a program may have said about itself, with the type of each answer.

Asked by `sonde/record/frameworks/torch/inside/settings.py`.

Enters: the JSON of marks of kind "settings". Leaves: the answers whose types are as declared. Rules need not doubt
them; an answer of another type is as if it had not been given.
"""

from __future__ import annotations

from typing import Any

from sonde.store import typed

_OPTIMIZER: dict[str, Any] = {
    "class": str,
    "foreach": bool,
    "fused": bool,
    "capturable": bool,
    "tensors": int,
    "elements": int,
    "dtypes": dict[str, int],
    "devices": list[str],
    "sparse_gradients": int,
}
_LOADER: dict[str, Any] = {
    "number": int,
    "num_workers": int,
    "persistent_workers": bool,
    "pin_memory": bool,
    "prefetch_factor": int,
    "batch_size": int,
    "dataset": str,
    "collate": str,
}
_SCHEDULING: dict[str, Any] = {"seconds": float, "stolen_share": float, "most_moves": int}
_AFFINITY = dict.fromkeys(("main", "smallest", "largest", "pinned_together", "online"), int)
_ANSWERS: dict[str, Any] = {
    "threads": int,
    "interop_threads": int,
    "detect_anomaly": bool,
    "deterministic": bool,
    "default_dtype": str,
    "float32_matmul_precision": str,
    "mkldnn": bool,
    "cpu_capability": str,
    "cudnn_benchmark": bool,
    "dev_mode": bool,
    "environment": dict[str, str],
    "cpu_flags": list[str],
    "affinity": _AFFINITY,
    "quota_cpus": float,
    "huge_pages": str,
    "flush_denormal": bool,
    "inductor_freezing": bool,
    "openmp": list[str],
    "allocator": list[str],
    "physical_cpus": int,
    "numa_bytes": dict[str, int],
    "scheduling": _SCHEDULING,
    "optimizers": [_OPTIMIZER],
    "loaders": [_LOADER],
}


def answers(told: dict[str, Any]) -> dict[str, Any]:
    """Those of one mark that are of the type declared."""
    return _fitting(_ANSWERS, told)


def _fitting(kinds: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, kind in kinds.items():
        value = told.get(key)
        if value is None:
            continue
        if isinstance(kind, dict):
            if isinstance(value, dict):
                found[key] = _fitting(kind, value)
        elif isinstance(kind, list):
            if isinstance(value, list):
                found[key] = [_fitting(kind[0], one) for one in value if isinstance(one, dict)]
        elif (checked := typed.fits(kind, value)) is not None:
            found[key] = checked
    return found
