"""How good an implementation is, by the name that oneDNN gives it.

`good` is written for the machine; `fallback` works through something more
general (im2col and a GEMM, plain vectorised C++); `reference` is a plain loop,
often ten times slower; `vendor` belongs to another library. The instruction set
in the name has a rank, so that "below what the machine offers" is a comparison.
"""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"(^|[:_+])ref(\b|_|:)")
_VENDOR = re.compile(r"^(acl|zen|xdnn|lut)|:acl\b")
_FALLBACK = re.compile(r"gemm:(jit|blas|acl)|^simple|^nspc_|^ncsp_|^x64:gemm|^jit:uni$|^jit_uni$")
_GOOD = re.compile(r"brg|jit|wino|ocl:|ngen|xe_|direct_copy")
_ISA = re.compile(r"(avx10_?\d?_?\d*\w*|avx512\w*|avx2\w*|avx\b|sse\w*|sve_?\d*|asimd|neon|vsx\w*|rvv\w*)")

# Kinds whose general JIT kernel is as good as a special one: they only move bytes.
_MOVERS = frozenset({"reorder", "binary", "sum", "concat"})

# Instruction sets from low to high, matched by prefix of the name in an implementation.
_RANKS = [
    ("sse", 1),
    ("avx2_vnni", 4),
    ("avx2", 3),
    ("avx512_core_amx", 9),
    ("avx512_core_fp16", 8),
    ("avx512_core_bf16", 7),
    ("avx512_core_vnni", 6),
    ("avx512", 5),
    ("avx10_2", 10),
    ("avx10", 8),
    ("avx", 2),
]


def isa_of(implementation: str) -> str | None:
    """The instruction set in an implementation's name, None when it has none."""
    found = _ISA.search(implementation)
    return found[0] if found else None


def isa_rank(isa: str | None) -> int:
    """Order of x86 instruction sets, 0 when unknown: compare only known ones."""
    if isa is None:
        return 0
    if "amx" in isa:
        return 9
    return next((rank for prefix, rank in _RANKS if isa.startswith(prefix)), 0)


def rank_of_effective(text: str) -> int:
    """Rank of the ISA that oneDNN prints in its header, `info,cpu,isa:Intel AVX2 with …`."""
    if "AMX" in text:
        return 9
    if "10.2" in text:
        return 10
    if "AVX-512" in text or "AVX512" in text or "AVX10" in text or "AVX 10" in text:
        if "float16" in text.replace("bfloat16", "") or "10.1" in text:
            return 8
        if "bfloat16" in text:
            return 7
        return 6 if "Boost" in text else 5
    if "AVX2" in text or "Extensions 2" in text:
        return 4 if "Boost" in text else 3
    if "AVX" in text:
        return 2
    return 1 if "SSE4" in text else 0


def quality_of(kind: str, implementation: str) -> str:
    """good, fallback, reference, vendor or unknown."""
    name = implementation.strip()
    if not name:
        return "unknown"
    if _VENDOR.search(name):
        return "vendor"
    if _REFERENCE.search(name):
        return "reference"
    if _FALLBACK.search(name):
        return "good" if name.startswith("jit") and kind in _MOVERS else "fallback"
    return "good" if _GOOD.search(name) else "unknown"
