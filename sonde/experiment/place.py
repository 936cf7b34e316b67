"""What this machine offers a program, for the tuner: effective CPUs, cores and NUMA nodes."""

from __future__ import annotations

import os
from pathlib import Path

from sonde.experiment.knobs import Place


def this_place(root: Path = Path("/")) -> Place:
    """By affinity and /sys; `sonde check` explains the same in full."""
    cpus = sorted(os.sched_getaffinity(0))
    cores = {_core(root, cpu) for cpu in cpus}
    nodes = []
    for folder in sorted((root / "sys/devices/system/node").glob("node[0-9]*")):
        mine = tuple(c for c in cpus if (folder / f"cpu{c}").exists())
        if mine:
            nodes.append(mine)
    return Place(len(cpus), len(cores), tuple(nodes))


def _core(root: Path, cpu: int) -> tuple[str, str]:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        return (
            (topology / "physical_package_id").read_text().strip(),
            (topology / "core_id").read_text().strip(),
        )
    except OSError:
        return ("", str(cpu))
