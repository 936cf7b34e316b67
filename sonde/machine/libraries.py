"""Which runtimes a process really loaded: from its memory map, never from the environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from sonde.machine.tree import Tree

# family -> pattern of the file name. Wheels add a hash: libgomp-a34b3233.so.1, libgomp.so.1.
_OPENMP = {
    "libgomp": re.compile(r"libgomp[-.].*"),
    "libiomp5": re.compile(r"libiomp5?[-.].*"),
    "libomp": re.compile(r"libomp(?!i)[-.\d].*"),
}
_ALLOCATORS = {
    "jemalloc": re.compile(r"libjemalloc.*\.so.*"),
    "tcmalloc": re.compile(r"libtcmalloc.*\.so.*"),
    "mimalloc": re.compile(r"libmimalloc.*\.so.*"),
}
_BLAS = {
    "MKL": re.compile(r"libmkl_(rt|core|intel_lp64|gnu_thread|intel_thread).*"),
    "OpenBLAS": re.compile(r"lib(scipy_)?openblas.*"),
    "BLIS": re.compile(r"libblis.*"),
    "Arm Performance Libraries": re.compile(r"libarmpl.*"),
}


@dataclass(frozen=True)
class Libraries:
    """Paths by family; the system's allocator is implied when none is listed."""

    openmp: dict[str, tuple[str, ...]]
    allocators: tuple[str, ...]
    blas: tuple[str, ...]

    @property
    def openmp_count(self) -> int:
        """Distinct OpenMP runtimes, two copies of one counted as two."""
        return sum(len(paths) for paths in self.openmp.values())


def from_maps(text: str) -> Libraries:
    """Look for known libraries in the text of /proc/PID/maps."""
    paths = sorted({m[1] for m in re.finditer(r"^\S+ \S+ \S+ \S+ \S+\s+(/.*)$", text, re.MULTILINE)})
    names = [(path, PurePosixPath(path.removesuffix(" (deleted)")).name) for path in paths]
    openmp = {
        family: tuple(path for path, name in names if pattern.fullmatch(name))
        for family, pattern in _OPENMP.items()
    }
    return Libraries(
        {family: found for family, found in openmp.items() if found},
        tuple(f for f, pattern in _ALLOCATORS.items() if any(pattern.fullmatch(n) for _, n in names)),
        tuple(f for f, pattern in _BLAS.items() if any(pattern.fullmatch(n) for _, n in names)),
    )


def of_process(tree: Tree, pid: str) -> Libraries | None:
    """The libraries of a running process, None when its map cannot be read."""
    text = tree.text(f"/proc/{pid}/maps")
    return from_maps(text) if text else None
