"""Reads a page back the way the browser does, for tests."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from sonde.columns import Array


def read_page(path: Path, block: str = "sonde-data") -> dict[str, Any]:
    """Facts, strings and tables of a page's data block."""
    text = path.read_text(encoding="utf-8")
    found = re.search(rf'<script type="application/octet-stream" id="{block}"[^>]*>([^<]*)</script>', text)
    assert found, f"{path} has no {block}"
    return decode(gzip.decompress(base64.b64decode(found.group(1))))


def decode(data: bytes) -> dict[str, Any]:
    """The inverse of Payload.encode, written from the format's description."""
    (length,) = struct.unpack_from("<I", data)
    header: dict[str, Any] = json.loads(data[4 : 4 + length])
    body = data[4 + length :]
    header["columns"] = {
        table: {name: _column(body, spec, described["rows"]) for name, spec in described["columns"].items()}
        for table, described in header["tables"].items()
    }
    return header


def _column(body: bytes, spec: dict[str, Any], rows: int) -> Array:
    width = 8 if spec["type"] == "float" else spec["width"]
    raw = np.frombuffer(body, np.uint8, width * rows, spec["at"]).reshape(width, rows)
    whole = np.zeros((8, rows), np.uint8)
    whole[:width] = raw
    packed = np.ascontiguousarray(whole.T)
    if spec["type"] == "float":
        return packed.view("<f8").reshape(rows)
    values = packed.view("<i8").reshape(rows).copy()
    if spec["signed"]:
        values = (values >> 1) ^ -(values & 1)
    return np.cumsum(values) if spec["delta"] else values
