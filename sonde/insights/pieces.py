"""How much of a tensor a call keeps: from its recorded shapes, its numbers and, for an index, the bytes of its result.

Enters: a call of the windows. Leaves: elements kept and elements in all; None where the recording does not tell.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sonde.insights.calls import Calls, elements, parsed

PIECE = re.compile(r"^aten::(select|slice|narrow|index_select|index|gather)$")
# What these make of one row depends on other rows: a piece alone cannot be computed.
MIXING = re.compile(
    r"(^|_)(lstm|gru|rnn\w*|cumsum|cumprod|cummax|logcumsumexp|fft\w*|softmax|linalg_(?!vector_norm)\w+|inverse"
    r"|cholesky\w*|svd|qr|eigh?|solve|lu\w*|multinomial)(_|$)"
)
_BYTES = {
    "float": 4, "double": 8, "long int": 8, "int": 4, "c10::Half": 2, "c10::BFloat16": 2, "short int": 2, "bool": 1,
    "unsigned char": 1, "signed char": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
}  # fmt: skip


class Piece(NamedTuple):
    """`dimension` is counted from the front; an index by tensors is taken to be along the first."""

    kept: int
    whole: int
    dimension: int
    dimensions: int


def piece_of(calls: Calls, row: int) -> Piece | None:
    """What a call that looks into a tensor keeps of it."""
    found = PIECE.match(calls.ops.text("name")[row] or "")
    shapes = calls.shapes(row)
    whole = elements(shapes[0]) if shapes else 0
    if not found or not whole:
        return None
    shape = [int(n) for n in shapes[0]]
    if found[1] == "index":
        return _indexed(calls, row, whole, len(shape))
    numbers = [_number(word) for word in parsed(calls.ops.text("inputs")[row])]
    at = numbers[1] if len(numbers) > 1 else None
    if at is None or not -len(shape) <= at < len(shape):
        return None
    at %= len(shape)
    if found[1] in ("index_select", "gather"):
        index = elements(shapes[2]) if len(shapes) > 2 else 0
        kept = index if found[1] == "gather" else index * whole // shape[at]
    elif found[1] == "select":
        kept = whole // shape[at]
    else:
        length = _length(shape[at], found[1], numbers[2:])
        if length is None:
            return None
        kept = whole // shape[at] * length
    return Piece(kept, whole, at, len(shape)) if kept > 0 else None


def _length(size: int, name: str, numbers: list[int | None]) -> int | None:
    """Of a slice (first, end, step) or of a part (first, length)."""
    if len(numbers) < 2 or numbers[1] is None:
        return None
    if name == "narrow":
        return min(max(numbers[1], 0), size)
    step = (numbers[2] if len(numbers) > 2 else 1) or 1
    first, end = (max(n + size, 0) if n < 0 else min(n, size) for n in (numbers[0] or 0, numbers[1]))
    return max(-(-(end - first) // max(step, 1)), 0)


def _indexed(calls: Calls, row: int, whole: int, dimensions: int) -> Piece | None:
    """By the memory that the result took."""
    dtypes = calls.dtypes(row)
    size = _BYTES.get(dtypes[0]) if dtypes and isinstance(dtypes[0], str) else None
    took = int(calls.ops.array("cpu_mem_bytes")[row])
    if size is None or took <= 0:
        return None
    return Piece(max(took // size, 1), whole, 0, dimensions)


def _number(word: Any) -> int | None:
    try:
        return int(word)
    except (TypeError, ValueError):
        return None
