"""Memory descriptors of oneDNN logs: one text form per era, one record.

Enters: the space separated descriptor field of a verbose line of any version.
Leaves: what each tensor is called, its data type, its layout.
A part that fits no known form gives None: the caller then knows nothing about
that tensor, and says so, instead of assuming a type or a layout.

  v0.x       fsrc:nChw16c · in:f32_nchw · fdata:…      (a data type only for reorders)
  v1.0-3.1   src_f32:p:blocked:aBcd16b:f0
  v3.2-3.5   src_f32:p:blocked:aBcd16b:STRIDES:f0
  v3.6+      src:f32:p:blocked:aBcd16b:STRIDES:f0
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Bytes of one element. Four-bit types share a byte.
SIZE_BYTES = {
    "f64": 8.0,
    "s64": 8.0,
    "f32": 4.0,
    "s32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "f16": 2.0,
    "s8": 1.0,
    "u8": 1.0,
    "boolean": 1.0,
    "f8_e5m2": 1.0,
    "f8_e4m3": 1.0,
    "e8m0": 1.0,
    "f4_e2m1": 0.5,
    "f4_e3m0": 0.5,
    "s4": 0.5,
    "u4": 0.5,
}
_TYPES = "|".join(sorted(SIZE_BYTES, key=len, reverse=True))
_ARGUMENT_TYPE = re.compile(rf"([a-z]\w*?)_({_TYPES}|undef)")
_OLD = re.compile(rf"(in|out|f?[a-z]+\d*):(?:({_TYPES})_)?(\w+)")
_BLOCK = re.compile(r"([1-9]\d{0,5})([a-z])")  # a block of nothing is none


@dataclass(frozen=True)
class Descriptor:
    """One tensor of a primitive. `data_type` is None when the log does not say it."""

    argument: str
    data_type: str | None
    padded: bool
    layout: str  # format tag: aBcd16b, nChw16c, …; empty when opaque
    present: bool = True

    def size_bytes(self, dims: Sequence[int]) -> float:
        """Bytes of the tensor with these logical dims, block padding included; NaN when unknown."""
        if not self.present:
            return 0.0
        if self.data_type is None:
            return math.nan
        elements = 1
        for index, dim in enumerate(dims):
            block = self.block(index) if self.padded else 1
            elements *= -(-dim // block) * block
        return elements * SIZE_BYTES[self.data_type]

    def block(self, dim: int) -> int:
        """Into how many elements dimension `dim` is grouped by the layout."""
        inner = _BLOCK.findall(self.layout)
        letter = chr(ord("a") + dim)
        return math.prod((int(size) for size, name in inner if name == letter), start=1)

    @property
    def rank(self) -> int:
        """Number of dimensions that the layout names, 0 when it names none."""
        outer = re.match(r"[A-Za-z]*", self.layout)
        return len(outer.group()) if outer else 0


def parse(field: str) -> list[Descriptor | None]:
    """The descriptors of one field, in the order printed."""
    return [_one(part) for part in field.split(" ") if part]


def _one(text: str) -> Descriptor | None:
    argument, separator, rest = text.partition(":")
    if not separator:
        return None
    new_style = rest.partition(":")[0]
    if new_style in SIZE_BYTES or new_style == "undef":
        parts = rest.split(":")
        # v0.x also prints "fbia:undef": one part only.
        if len(parts) == 1:
            return Descriptor(argument, None, False, "", present=False) if new_style == "undef" else None
        return _from_parts(argument, parts[0], parts[1:])
    joined = _ARGUMENT_TYPE.fullmatch(argument)
    if joined:
        return _from_parts(joined[1], joined[2], rest.split(":"))
    old = _OLD.fullmatch(text)
    if old:
        name = old[1]
        name = name[1:] if name.startswith("f") and len(name) > 2 else name
        return Descriptor({"in": "src", "out": "dst"}.get(name, name), old[2], False, old[3])
    return None


def _from_parts(argument: str, data_type: str, parts: list[str]) -> Descriptor | None:
    """`parts` = PROPS:KIND:TAG[:STRIDES]:EXTRA, after the data type."""
    if data_type == "undef":
        return Descriptor(argument, None, False, "", present=False)
    if len(parts) < 3:
        return None
    properties, kind, layout = parts[0], parts[1], parts[2]
    return Descriptor(argument, data_type, "p" in properties, layout if kind == "blocked" else "")
