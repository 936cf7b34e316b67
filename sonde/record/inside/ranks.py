"""Who a process is among those of its job, by what its launcher put into the environment.

In: environment variables of torchrun (also accelerate and DeepSpeed), MPI or SLURM. Out: rank, size of the job, rank on
this host, name of the role. What the program says when it makes its process group counts more
(`sonde.record.frameworks.torch.inside.groups`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# rank, size of the job, rank on this host; the first launcher whose rank and size are there is believed.
LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
    ("MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
NO_ROLE = "default"  # what torchrun calls a role that nobody named


def told_by(environ: Mapping[str, str]) -> dict[str, Any]:
    """`rank`, `world_size`, `local_rank` (-1: not told), `launcher` and `job_role` (None: not told)."""
    found: dict[str, Any] = {
        "rank": -1,
        "world_size": -1,
        "local_rank": -1,
        "launcher": None,
        "job_role": None,
    }
    for name, rank, size, local in LAUNCHERS:
        if _number(environ.get(rank)) >= 0 and _number(environ.get(size)) > 0:
            found |= {
                "rank": _number(environ[rank]),
                "world_size": _number(environ[size]),
                "local_rank": _number(environ.get(local)),
                "launcher": name,
            }
            break
    role = environ.get("ROLE_NAME")
    if found["launcher"] == "torchrun" and role and role != NO_ROLE:
        found["job_role"] = role
    return found


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() and len(text) < 10 else -1
