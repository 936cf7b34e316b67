"""Checksums of a recording's table files, so that a flipped bit is an error and not another number.

Written into meta.json when the recording is complete, checked when a table is loaded. CRC-32 finds every change of up
to 32 neighbouring bits and misses one in four billion others; it is no protection against someone who wants to
deceive. It costs about a quarter of a millisecond per megabyte; loading that table costs a hundred times as much.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from sonde.errors import InputError
from sonde.store.files import Files, opened, table_files
from sonde.store.schema import TABLES

_BLOCK_BYTES = 1 << 20


def of(folder: Path) -> dict[str, str]:
    """The checksum of each table file below `folder`, by its path there."""
    found = {}
    for path in (path for name in TABLES for path in sorted((folder / name).glob("*.parquet"))):
        with path.open("rb") as stream:
            found[f"{path.parent.name}/{path.name}"] = _checksum(stream)
    return found


def verify(files: Files, table: str, known: Mapping[str, str]) -> None:
    """InputError unless the files of a table are those that were written. Nothing known: nothing checked."""
    if not known:
        return
    present = table_files(files, table)
    for name in sorted({n for n in known if n.startswith(f"{table}/")} ^ set(present)):
        what = "was not there when it was recorded" if name in present else "is missing"
        raise InputError(f"{files.path}/{name} {what}: the recording was changed or only copied in part")
    for name in present:
        with opened(files, [name]) as (descriptor,), os.fdopen(os.dup(descriptor), "rb") as stream:
            seen = _checksum(stream)
        if seen != known[name]:
            raise InputError(
                f"table {table} is damaged: {files.path}/{name} has checksum {seen}, not {known[name]}",
                f"copy it again; if {files.path}/raw is still there: sonde recover {files.path}",
            )


def _checksum(stream: BinaryIO) -> str:
    value = 0
    while block := stream.read(_BLOCK_BYTES):
        value = zlib.crc32(block, value)
    return f"crc32:{value:08x}"
