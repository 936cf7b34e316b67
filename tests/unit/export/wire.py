"""Reads protobuf's wire format without a schema: field number → values. For tests of what we write."""

from __future__ import annotations

from collections import defaultdict

Message = dict[int, list[int | bytes]]


def parse(data: bytes) -> Message:
    fields: Message = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
            fields[field].append(value)
        elif kind == 2:
            length, at = _varint(data, at)
            assert at + length <= len(data)
            fields[field].append(data[at : at + length])
            at += length
        else:
            raise AssertionError(f"wire type {kind} is never written")
    return fields


def numbers(packed: int | bytes) -> list[int]:
    assert isinstance(packed, bytes)
    out, at = [], 0
    while at < len(packed):
        value, at = _varint(packed, at)
        out.append(value)
    return out


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
