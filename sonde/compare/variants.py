"""One function in several builds: PyTorch compiles its CPU kernels once per instruction set and picks one at start.

    at::native::DEFAULT::add_kernel  and  at::native::AVX2::add_kernel  are one function
What a compiler inlines differs between them: the loop of add_kernel is vectorized_loop<…add_kernel…> in one and
callback_fn<…VectorizedLoop2d<…add_kernel…>> in the other, so frames of such code are named by the kernel in their
full name (`cpu_kernel`). In: the names on each side. Out: the common name of those whose variant differs between
the sides. Where both sides run the same variant its name stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CAPABILITY = re.compile(r"\b(DEFAULT|AVX2|AVX512|AVX512_VNNI|AMX|VSX|ZVECTOR|SVE|SVE128|SVE256)::")

_KERNEL = re.compile(
    r"\bat::native::(?:\(anonymous namespace\)::|(?:DEFAULT|AVX2|AVX512|SVE256)::)?(\w+_kernel\w*)\("
)


def has_variants(full_name: str | None) -> bool:
    """Whether a function was compiled once per instruction set."""
    return bool(full_name and _CAPABILITY.search(full_name))


def cpu_kernel(full_name: str | None) -> str | None:
    """at::native::AVX2::add_kernel for any part of its loop; null for other code."""
    capability = _CAPABILITY.search(full_name or "")
    kernel = _KERNEL.search(full_name or "")
    return f"at::native::{capability[1]}::{kernel[1]}" if capability and kernel else None


def variant_names(a: Iterable[str], b: Iterable[str]) -> dict[str, str]:
    """Name → name without its instruction set and with those of A and B behind it."""
    sides = [_by_plain_name(names) for names in (a, b)]
    found: dict[str, str] = {}
    for plain in sides[0].keys() & sides[1].keys():
        left, right = sides[0][plain], sides[1][plain]
        if left != right:
            label = f"{plain} [{_sets(left)} → {_sets(right)}]"
            found |= dict.fromkeys(left | right, label)
    return found


def _by_plain_name(names: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(_CAPABILITY.sub("", name), set()).add(name)
    return found


def _sets(names: set[str]) -> str:
    """DEFAULT, AVX2, …; "any" for a function that has no variant."""
    return " and ".join(sorted({m for name in names for m in _CAPABILITY.findall(name)})) or "any"
