"""MKL_VERBOSE lines: one BLAS, LAPACK or FFT call each.

    MKL_VERBOSE SGEMM(T,N,10,2,14400,0x7f…,…) 207.81us CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:1

Addresses differ from call to call and mean nothing later, so they become `*`;
what remains (`invariant`) is the same for every call with that problem.
FLOPs are known for the matrix products; other calls keep NaN.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sonde.analyze.primitives.cost import UNKNOWN, Cost

MARKER = b"MKL_VERBOSE "
_ADDRESS = re.compile(rb"0x[0-9a-fA-F]+|\(nil\)")
_LINE = re.compile(
    rb"MKL_VERBOSE ([A-Za-z_]\w*\(.*\)) (\d+(?:\.\d+)?(?:e[+-]?\d+)?)(ns|us|ms|s)\b(.*)", re.DOTALL
)
_TIME = re.compile(rb"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(ns|us|ms|s)")
_HEADER = re.compile(r"MKL_VERBOSE (oneMKL|Intel\(R\) MKL) .*")
_MS = {b"ns": 1e-6, b"us": 1e-3, b"ms": 1.0, b"s": 1e3}
_THREADS = re.compile(rb"NThr:(\d{1,9})\b")
LONGEST_MS = 1e12  # a call of 31 years; a larger figure is damage and would drown every sum
_GEMM = re.compile(r"(cblas_)?([sdcz])gemm(3m)?(_batch_strided|_batch)?(64_?)?_?", re.IGNORECASE)
_MIXED_GEMM = re.compile(
    r"(?:cblas_)?gemm_(bf16bf16f32|f16f16f32|s8u8s32|s8s8s32|s16s16s32|e5m2\w*|e4m3\w*)", re.IGNORECASE
)
_GEMV = re.compile(r"(?:cblas_)?([sdcz])gemv(64_?)?_?", re.IGNORECASE)
_SIZE = re.compile(r"\d{1,18}")
_SIZES = {"s": 4, "d": 8, "c": 8, "z": 16}
_TYPES = {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}
_MIXED_SIZES = {"b": 2.0, "f": 2.0, "e": 1.0}


@dataclass(frozen=True)
class MklCall:
    """What a line says, its time aside."""

    kind: str
    data_type: str | None
    shape: str
    threads: int
    cost: Cost


def split(line: bytes) -> tuple[bytes, float] | None:
    """The part of a line that is the same for every such call, and its time in ms."""
    found = _LINE.fullmatch(line)
    if not found:
        return None
    call = _ADDRESS.sub(b"*", found[1])
    threads = _THREADS.search(found[4])
    time_ms = float(found[2]) * _MS[found[3]]
    if not time_ms < LONGEST_MS:
        return None
    return call + b" " + (threads[1] if threads else b""), time_ms


def milliseconds(text: bytes) -> float | None:
    """`41.32us` as milliseconds."""
    found = _TIME.fullmatch(text)
    time_ms = float(found[1]) * _MS[found[2]] if found else LONGEST_MS
    return time_ms if time_ms < LONGEST_MS else None


def parse(invariant: str) -> MklCall:
    """The record of an invariant part made by `split`."""
    call, _, threads = invariant.rpartition(" ")
    name, _, inside = call.partition("(")
    arguments = inside.removesuffix(")").split(",")
    data_type, cost = _cost(name, arguments)
    shape = ",".join(a for a in arguments if a != "*")
    return MklCall(name.lower(), data_type, shape, int(threads) if threads else -1, cost)


def header(line: str) -> str | None:
    """The library's own description of itself: version, instruction set, threading layer."""
    return line.removeprefix("MKL_VERBOSE ").strip() if _HEADER.fullmatch(line) else None


def _cost(name: str, arguments: list[str]) -> tuple[str | None, Cost]:
    """Fortran argument order: transa, transb, m, n, k, …; cblas puts the layout first."""
    if name.lower().startswith("cblas_"):
        arguments = arguments[1:]
    gemm = _GEMM.fullmatch(name)
    if gemm:
        letter = gemm[2].lower()
        if gemm[4] or gemm[3]:
            return _TYPES[letter], UNKNOWN  # batches print per-group arrays; 3m multiplies less
        return _TYPES[letter], _product(arguments, _SIZES[letter], complex_=letter in "cz")
    mixed = _MIXED_GEMM.fullmatch(name)
    if mixed:
        kind = mixed[1].lower()
        first = "s16" if kind.startswith("s16") else kind[:4] if kind[0] in "be" else kind[:3]
        size = 2 if kind.startswith("s16") else _MIXED_SIZES.get(kind[0], 1.0)
        return first.rstrip("us") if kind.startswith("s8") else first, _product(arguments, size, size_c=4)
    gemv = _GEMV.fullmatch(name)
    if gemv and len(arguments) > 2 and all(map(_SIZE.fullmatch, arguments[1:3])):
        letter = gemv[1].lower()
        m, n = int(arguments[1]), int(arguments[2])
        scale = 4 if letter in "cz" else 1
        return _TYPES[letter], Cost(2.0 * m * n * scale, float((m * n + m + n) * _SIZES[letter]))
    return None, UNKNOWN


def _product(arguments: list[str], size: float, complex_: bool = False, size_c: float | None = None) -> Cost:
    sizes = arguments[2:5]
    if len(sizes) < 3 or not all(map(_SIZE.fullmatch, sizes)):
        return UNKNOWN
    m, n, k = map(int, sizes)
    flops = math.prod((m, n, k)) * (8.0 if complex_ else 2.0)
    return Cost(flops, (m * k + k * n) * size + m * n * (size if size_c is None else size_c))
