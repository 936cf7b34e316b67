"""Kernels that actually ran: the instruction set in the names of the kernels that samples saw at work.

Enters: frames, stacks and samples. Leaves: running CPU time by library and instruction set, as
the libraries name their own kernels: the namespaces of ATen, oneDNN's JIT names, the families of
MKL, OpenBLAS and SLEEF. A sample belongs to the kernel nearest to its innermost frame, so a page
fault inside a kernel is the kernel's. A name that carries no instruction set says so (isa None);
nothing is guessed, and `elsewhere_ns` is the running time in which no such kernel was on the stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import nearest
from sonde.columns import Array, Table

_ATEN = re.compile(r"\bat::(?:\w+::)*?(AVX2|AVX512|DEFAULT|SVE\d*|VSX|ZVECTOR)::")
_ONEDNN_ISA = re.compile(
    r"(?:jit|brgemm)_(?:\w+?_)??(sse41|avx2_vnni(?:_2)?|avx2|avx512_core(?:_amx|_fp16|_bf16|_vnni)?|avx512|avx10_\d"
    r"|avx|amx|sve_\d+|sve|asimd)_"
)
_ONEDNN = re.compile(r"\bdnnl::impl::cpu::\w+::(?:jit_|brgemm_)")
_ATEN_KERNEL = re.compile(r"\b\w+_kernel(?:_\w+)?\b")
_LOOP = re.compile(
    r"c10::function_ref|std::_Function_handler|at::native::\w+::(?:[vV]ectorized_?[lL]oop|Loop2d)"
)
# mkl_blas_def_dgemm_kernel_zen, mkl_blas_avx2_sgemm_pst, mkl_dft_avx512_…
_MKL = re.compile(r"^mkl_(?:[a-z]+_)?(def|mc3?|avx512_mic|avx512|avx2|avx|cnr)_\w")
_VML = re.compile(r"^mkl_vml_kernel_\w+?_([A-Z]\d|EX)(?:HA|LA|EP)")
_OPENBLAS = re.compile(
    r"^[sdczi]?\w+?_(HASWELL|ZEN|SKYLAKEX|COOPERLAKE|SAPPHIRERAPIDS|SANDYBRIDGE|NEHALEM|NEOVERSE\w+)$"
)
_SLEEF = re.compile(r"^Sleef_\w*?(avx512f|avx2|avx|sse[24]|fma4|advsimd|sve|purec)")


@dataclass(frozen=True)
class KernelsSeen:
    """Time in the kernels of one library that carry one instruction set in their name."""

    library: str  # ATen, oneDNN, MKL, MKL VML, OpenBLAS or SLEEF
    isa: str | None  # as the library spells it
    cpu_ns: int
    samples: int
    heaviest: str  # the kernel with most of that time


@dataclass(frozen=True)
class WhatRan:
    """Rows with most time first, the running time they are part of, and what lies in no known kernel."""

    rows: tuple[KernelsSeen, ...]
    running_ns: int
    elsewhere_ns: int


def kernel_of(layer: str | None, name: str, full_name: str) -> tuple[str, str | None] | None:
    """The library and the instruction set that a frame names; None when it is no such kernel."""
    if layer not in ("native", "jit"):
        return None
    if found := _ATEN.search(full_name):
        return "ATen", found[1]
    if found := _MKL.match(name):
        return "MKL", found[1]
    if found := _VML.match(name):
        return "MKL VML", found[1]
    if found := _SLEEF.match(name):
        return "SLEEF", found[1]
    if layer == "native" and (found := _OPENBLAS.match(name)):
        return "OpenBLAS", found[1]
    if (layer == "jit" and name.startswith(("jit_", "brgemm_"))) or _ONEDNN.search(full_name):
        isa = _ONEDNN_ISA.search(name if layer == "jit" else full_name)
        return ("oneDNN", isa[1] if isa else None) if layer == "jit" or isa else None
    return None


def kernels_seen(frames: Table, stacks: Table, samples: Table) -> WhatRan:
    """Running time by library and instruction set."""
    running = np.flatnonzero(samples.text("state").equals("running"))
    weight, ends = (
        samples.array("weight_ns")[running],
        rows_of(stacks.array("stack"), samples.array("stack")[running]),
    )
    total_ns = int(weight.sum())
    names = _text(frames, "name")
    kinds: dict[tuple[str, str | None], int] = {}
    kind_of_frame = np.full(len(frames), -1, np.int64)
    full_names, layers = _text(frames, "full_name"), frames.text("layer").tolist()
    for row, (layer, name, full) in enumerate(zip(layers, names, full_names, strict=True)):
        if (kind := kernel_of(layer, name, full or name)) is not None:
            kind_of_frame[row] = kinds.setdefault(kind, len(kinds))
    nearest = _nearest(stacks, frames, kind_of_frame)
    at = np.where(ends >= 0, nearest[np.maximum(ends, 0)], -1) if len(stacks) else np.full(len(ends), -1)
    inside = at >= 0
    by_frame = np.bincount(at[inside], weights=weight[inside], minlength=len(frames))
    counts = np.bincount(at[inside], minlength=len(frames))
    rows = []
    for (library, isa), number in kinds.items():
        of_kind = np.flatnonzero(kind_of_frame == number)
        if not counts[of_kind].any():
            continue
        by_name: dict[str, float] = {}
        for frame in of_kind.tolist():
            name = _telling(names[frame], full_names[frame])
            by_name[name] = by_name.get(name, 0.0) + float(by_frame[frame])
        heaviest = max(by_name, key=lambda name: (by_name[name], name))
        rows.append(
            KernelsSeen(library, isa, int(by_frame[of_kind].sum()), int(counts[of_kind].sum()), heaviest)
        )
    rows.sort(key=lambda r: (-r.cpu_ns, r.library, r.isa or ""))
    return WhatRan(tuple(rows), total_ns, total_ns - sum(r.cpu_ns for r in rows))


def _telling(name: str, full_name: str) -> str:
    """The kernel's name: loops around a function object name theirs only in the template arguments."""
    if _LOOP.match(name) and (found := _ATEN_KERNEL.search(full_name)):
        return found[0]
    return re.sub(r"\.\d+$", "", name)  # oneDNN numbers each kernel that it generates


def _nearest(stacks: Table, frames: Table, kind_of_frame: Array) -> Array:
    """For each row of `stacks`, the row in `frames` of the innermost kernel on it; -1 when there is none."""
    frame = rows_of(frames.array("frame"), stacks.array("frame"))
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    if not len(frames):
        return np.full(len(stacks), -1, np.int64)
    found = np.where((frame >= 0) & (kind_of_frame[np.maximum(frame, 0)] >= 0), frame, -1)
    return np.append(found, -1)[nearest(parent, found >= 0)]


def _text(table: Table, column: str) -> list[str]:
    return [value or "" for value in table.text(column).tolist()]
