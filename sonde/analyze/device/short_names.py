"""A kernel's name for people: what it computes and in which type.

Enters: the name as the profiler wrote it, often a demangled C++ template of several hundred characters. Leaves: a few
words, `mul bf16`, `gemm bf16 128x128`, `AllReduce bf16`. Kernels may share a short name; the full one tells them apart.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 48

# As names of libraries and C++ types spell them → as people do. The order counts: longer words first.
_TYPES = (
    (re.compile(r"BFloat16|__nv_bfloat16|bfloat16|(?<![a-z0-9])bf16|_bf16_|bf16gemm", re.IGNORECASE), "bf16"),
    (re.compile(r"Float8_?e4m3|e4m3", re.IGNORECASE), "fp8"),
    (re.compile(r"Float8_?e5m2|e5m2", re.IGNORECASE), "fp8"),
    (
        re.compile(r"c10::Half|__half|half_t|(?<![a-z0-9])(fp16|f16|h(?:884|1688|16816)?gemm)|_fp16_|_f16_"),
        "fp16",
    ),
    (re.compile(r"(?<![a-z0-9])tf32|tensorop_s1688"), "tf32"),
    (re.compile(r"\bdouble\b|(?<![a-z0-9])(f64|dgemm)"), "fp64"),
    (re.compile(r"\bfloat\b|(?<![a-z0-9])(f32|fp32|sgemm|scudnn)|_f32_"), "fp32"),
    (re.compile(r"signed char|\bint8|(?<![a-z0-9])i8|_s8_"), "int8"),
    (re.compile(r"\blong\b|int64"), "int64"),
    (re.compile(r"\bbool\b"), "bool"),
)
# The functor inside ATen's element-wise, reduction and index kernels says what they do.
_FUNCTOR = re.compile(
    r"CUDAFunctor(?:OnSelf|OnOther)?_(?P<cuda>\w+)"
    r"|(?P<functor>\w+?)(?:Functor|_functor)\b"
    r"|(?P<ops>\w+?)Ops<"
    r"|at::native::(?:\(anonymous namespace\)::)?(?P<caller>\w+?)_(?:kernel_cuda|kernel_impl|cuda_impl|kernel)[(<]"
    r"|(?P<impl>\w+?)CUDAKernelImpl"
)
_GENERIC = {
    "binary",
    "aunary",
    "bunary",
    "unary",
    "vectorized",
    "elementwise",
    "bitwise",
    "compare",
    "loop",
    "index",
    "load",
    "store",
    "reduce",
    "vectorized_elementwise",
    "unrolled_elementwise",
    "index_elementwise",
}
_GEMM = re.compile(r"gemm|cijk_|nvjet|gemv", re.IGNORECASE)
_TILE = re.compile(r"(?<![0-9a-z])(\d{2,3})x(\d{2,3})(?![0-9])|MT(\d+)x(\d+)")
_NCCL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel_?(?P<what>[A-Za-z]+?)(?:_|$|\()")
_FLASH = re.compile(
    r"(flash_(?:fwd|bwd)\w*?|fmha_cutlass[FB]|mha_varlen_(?:fwd|bwd)\w*?)(?:_kernel|_|<|$)", re.IGNORECASE
)
_CONV = re.compile(
    r"(implicit_convolve|conv2d|convolve|fprop|dgrad|wgrad|winograd|scudnn|hcudnn)", re.IGNORECASE
)
_ATEN = re.compile(
    r"elementwise_kernel|reduce_kernel|unrolled_elementwise|index_elementwise|multi_tensor_apply"
)
_COPY = re.compile(r"^(Memcpy|Memset)\b")


@lru_cache(maxsize=65536)
def short_name(name: str) -> str:
    """`name` in a few words; itself when it is short already."""
    if _COPY.match(name):
        return name.split(" (")[0]
    found = _NCCL.search(name)
    if found:
        return _with_type(found["what"], name)
    found = _FLASH.search(name)
    if found:
        return _with_type(found[1].lower(), name)
    if "at::native" in name and _ATEN.search(name):
        return _aten(name)
    low = name.lower()
    if _CONV.search(low) and not name.startswith("triton"):
        way = next((word for word in ("winograd", "dgrad", "wgrad", "fprop") if word in low), "")
        return _sized(f"conv {way}".strip(), name)
    if _GEMM.search(low) and not name.startswith("triton"):
        return _sized("gemv" if "gemv" in low else "gemm", name)
    return _cut(_bare(name))


def _aten(name: str) -> str:
    what = ""
    for found in _FUNCTOR.finditer(name):
        word = next(part for part in found.groups() if part)
        plain = re.sub(r"^(gpu_|aten_)", "", _snake(word))
        if plain not in _GENERIC:
            what = plain
            break
    if not what:
        what = "copy" if "direct_copy" in name else "fill" if "FillFunctor" in name else "elementwise"
    if "multi_tensor_apply" in name:
        what = f"foreach {what}"
    elif "reduce_kernel" in name and not what.startswith(("sum", "mean", "max", "min", "norm", "arg")):
        what = f"reduce {what}"
    return _with_type(what, name)


def _sized(what: str, name: str) -> str:
    """With the type and the tile."""
    tile = _TILE.search(name)
    sides = [side for side in tile.groups() if side] if tile else []
    return " ".join([_with_type(what, name), *(["x".join(sides)] if sides else [])])


def _snake(word: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower().strip("_")


def _with_type(what: str, name: str) -> str:
    for pattern, word in _TYPES:
        if pattern.search(name):
            return _cut(f"{what} {word}")
    return _cut(what)


def _bare(name: str) -> str:
    """The last part of a C++ name without return type, arguments and template arguments."""
    text = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    depth, kept = 0, []
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == "(" and depth == 0:
            break
        elif depth == 0:
            kept.append(letter)
    plain = "".join(kept).strip()
    return plain.rsplit("::", 1)[-1].strip() or name


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
