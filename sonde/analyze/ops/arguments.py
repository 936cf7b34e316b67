"""The arguments of an operator call as the profiler prints them, as numbers."""

from __future__ import annotations

import ast
import functools
import math
from dataclasses import dataclass
from typing import Any

from sonde import json_text

Dims = tuple[int, ...]

# Kineto's names of element types, in bytes.
TYPE_BYTES = {
    "float": 4,
    "float32": 4,
    "double": 8,
    "c10::bfloat16": 2,
    "c10::half": 2,
    "long int": 8,
    "long": 8,
    "int": 4,
    "short int": 2,
    "short": 2,
    "signed char": 1,
    "unsigned char": 1,
    "char": 1,
    "int8": 1,
    "bool": 1,
    "c10::complex<float>": 8,
    "c10::complex<double>": 16,
    "c10::float8_e4m3fn": 1,
    "c10::float8_e5m2": 1,
    "c10::float8_e4m3fnuz": 1,
    "c10::float8_e5m2fnuz": 1,
}


@dataclass(frozen=True)
class Arguments:
    """Shapes, types and concrete values by position. A tensor list has a list of shapes."""

    shapes: list[Any]
    sizes: list[int | None]  # bytes of an element; None: no tensor, or a list
    values: list[str]

    @functools.cached_property
    def tensors(self) -> list[Dims | None]:
        """By position the shape of a tensor argument; None when it is none, or a list."""
        return [_dims(shape) if size else None for shape, size in zip(self.shapes, self.sizes, strict=False)]

    def dims(self, index: int) -> Dims | None:
        """Shape of a tensor argument; None when it is none, or a list."""
        return self.tensors[index] if index < len(self.tensors) else None

    def size_bytes(self, index: int) -> float:
        """Bytes of a tensor argument, 0 when it is none."""
        dims = self.dims(index)
        return 0.0 if dims is None else math.prod(dims) * self.element_bytes(index)

    def element_bytes(self, index: int = 0) -> int:
        return (self.sizes[index] or 0) if index < len(self.sizes) else 0

    def ints(self, index: int) -> list[int] | None:
        """`[1, 1]` or `3` among the concrete values."""
        value = self._literal(index)
        if isinstance(value, int) and not isinstance(value, bool):
            return [value]
        if isinstance(value, list) and all(isinstance(v, int) for v in value):
            return [int(v) for v in value]
        return None

    def flag(self, index: int) -> bool | None:
        value = self._literal(index)
        return value if isinstance(value, bool) else None

    def _literal(self, index: int) -> object:
        try:
            return ast.literal_eval(self.values[index])
        except (IndexError, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None

    @property
    def tensor_count(self) -> int:
        return sum(dims is not None for dims in self.tensors)


def _dims(shape: Any) -> Dims | None:
    if not isinstance(shape, list):
        return None
    for extent in shape:
        if not isinstance(extent, int) or extent < 0:
            return None
    return tuple(shape)


def parse(shapes: str | None, types: str | None, values: str | None) -> Arguments | None:
    """None when the profiler did not record shapes."""
    extents, sizes = _list(shapes), _sizes(types)
    if extents is None or sizes is None:
        return None
    return Arguments(extents, sizes, [str(v) for v in _list(values) or []])


@functools.lru_cache(maxsize=1 << 14)
def _sizes(types: str | None) -> list[int | None] | None:
    """Bytes of an element of each argument."""
    found = _list(types)
    return None if found is None else [TYPE_BYTES.get(str(kind).lower()) for kind in found]


@functools.lru_cache(maxsize=1 << 14)  # few types and values, in many combinations; nobody changes the lists
def _list(text: str | None) -> list[Any] | None:
    return json_text.list_of(text)
