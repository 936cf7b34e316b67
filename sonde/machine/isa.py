"""Which vector instructions may be used: CPUID and what the operating system enabled.

A processor that has AVX-512 cannot run it when the system does not save the
registers (XCR0), so each name needs its CPUID bit and its state bits. Without
the native library, or on another machine's tree, the kernel's flags in
/proc/cpuinfo say the same with the system's part already applied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

Registers = tuple[int, int, int, int]
Cpuid = Callable[[int, int], "Registers | None"]

_AVX_STATE = 0x6
_AVX512_STATE = 0xE6
_AMX_STATE = 0x60000
_EAX, _EBX, _ECX, _EDX = range(4)

# name -> (leaf, subleaf, register, bit, state bits). Names are those of /proc/cpuinfo.
_X86: dict[str, tuple[int, int, int, int, int]] = {
    "sse4_1": (1, 0, _ECX, 19, 0),
    "sse4_2": (1, 0, _ECX, 20, 0),
    "avx": (1, 0, _ECX, 28, _AVX_STATE),
    "f16c": (1, 0, _ECX, 29, _AVX_STATE),
    "fma": (1, 0, _ECX, 12, _AVX_STATE),
    "avx2": (7, 0, _EBX, 5, _AVX_STATE),
    "avx_vnni": (7, 1, _EAX, 4, _AVX_STATE),
    "avx_ifma": (7, 1, _EAX, 23, _AVX_STATE),
    "avx_vnni_int8": (7, 1, _EDX, 4, _AVX_STATE),
    "avx_ne_convert": (7, 1, _EDX, 5, _AVX_STATE),
    "avx512f": (7, 0, _EBX, 16, _AVX512_STATE),
    "avx512dq": (7, 0, _EBX, 17, _AVX512_STATE),
    "avx512cd": (7, 0, _EBX, 28, _AVX512_STATE),
    "avx512bw": (7, 0, _EBX, 30, _AVX512_STATE),
    "avx512vl": (7, 0, _EBX, 31, _AVX512_STATE),
    "avx512_vnni": (7, 0, _ECX, 11, _AVX512_STATE),
    "avx512_bf16": (7, 1, _EAX, 5, _AVX512_STATE),
    "avx512_fp16": (7, 0, _EDX, 23, _AVX512_STATE),
    "amx_tile": (7, 0, _EDX, 24, _AMX_STATE),
    "amx_bf16": (7, 0, _EDX, 22, _AMX_STATE),
    "amx_int8": (7, 0, _EDX, 25, _AMX_STATE),
    "amx_fp16": (7, 1, _EAX, 21, _AMX_STATE),
    "avx10": (7, 1, _EDX, 19, _AVX512_STATE),
}
_ARM = ("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme", "sme2")

# What a library can make of it, from high to low: a name for people and the flags it needs.
_LEVELS = [
    ("AMX", {"amx_tile", "amx_bf16", "amx_int8"}),
    ("AVX-512 FP16", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_fp16"}),
    ("AVX-512 BF16", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"}),
    ("AVX-512 VNNI", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}),
    ("AVX-512", {"avx512f", "avx512bw", "avx512vl", "avx512dq"}),
    ("AVX2 VNNI", {"avx2", "fma", "avx_vnni"}),
    ("AVX2", {"avx2", "fma"}),
    ("AVX", {"avx"}),
    ("SSE4.1", {"sse4_1"}),
    ("SVE2", {"sve2"}),
    ("SVE", {"sve"}),
    ("NEON", {"asimd"}),
]


@dataclass(frozen=True)
class Isa:
    """`usable` may be run; `disabled` the processor has but the system did not enable."""

    usable: tuple[str, ...]
    disabled: tuple[str, ...]
    level: str | None  # the highest level that `usable` makes whole
    source: str  # cpuid, cpuinfo or none
    avx10_version: int | None = None


def from_cpuid(cpuid: Cpuid, xcr0: int) -> Isa | None:
    """Decode registers; None when the processor does not answer (not x86)."""
    if cpuid(1, 0) is None:
        return None
    usable: list[str] = []
    disabled: list[str] = []
    for name, (leaf, subleaf, register, bit, state) in _X86.items():
        registers = cpuid(leaf, subleaf)
        if registers is None or not registers[register] >> bit & 1:
            continue
        (usable if xcr0 & state == state else disabled).append(name)
    version = cpuid(0x24, 0) if "avx10" in usable else None
    return Isa(
        tuple(usable), tuple(disabled), level_of(usable), "cpuid", version[_EBX] & 0xFF if version else None
    )


def from_flags(flags: frozenset[str]) -> Isa:
    """What the kernel lists. Intel names AVX10 `avx10_1`; ARM has a vocabulary of its own."""
    usable = [n for n in (*_X86, *_ARM) if n in flags or (n == "avx10" and "avx10_1" in flags)]
    # `bf16` alone is ARM's; x86 never prints it without a prefix.
    return Isa(tuple(usable), (), level_of(usable), "cpuinfo" if flags else "none")


def level_of(names: list[str]) -> str | None:
    """The highest level whose parts are all there."""
    have = set(names)
    return next((level for level, needs in _LEVELS if needs <= have), None)


def live_cpuid() -> tuple[Cpuid, int] | None:
    """CPUID and XCR0 of this processor through the native library; None without it."""
    from sonde.errors import EnvironmentLacks
    from sonde.native import tools

    try:
        library = tools()
        raw, xcr0 = library.sonde_cpuid, library.sonde_xcr0
    except (EnvironmentLacks, OSError, AttributeError):
        return None
    raw.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)]
    xcr0.restype = ctypes.c_uint64

    def cpuid(leaf: int, subleaf: int) -> Registers | None:
        out = (ctypes.c_uint32 * 4)()
        return None if raw(leaf, subleaf, out) else (out[0], out[1], out[2], out[3])

    return cpuid, int(xcr0())
