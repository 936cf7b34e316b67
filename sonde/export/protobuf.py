"""Just enough of the protobuf wire format to write messages: varints and length-delimited fields.

A message is the bytes of its fields, one after the other. No schema, no
dependency: each exporter names its field numbers.
"""

from __future__ import annotations

from collections.abc import Iterable


def varint(number: int) -> bytes:
    """Base-128, low groups first; negative numbers are 64-bit two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def fixed64(field: int, number: int) -> bytes:
    return varint(field << 3 | 1) + (number & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def message(field: int, payload: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    return message(field, value.encode("utf-8", "replace"))


def packed(field: int, numbers: Iterable[int]) -> bytes:
    return message(field, b"".join(map(varint, numbers)))
