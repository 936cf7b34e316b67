"""The bytes of a file, inflated when it is gzip, with bounds on what a small file may grow to.

Every importer written in Python reads through here; the native trace reader has the same bounds of its own.
A gzip file may grow 250-fold; real traces and logs grow 10- to 40-fold. Small ones may always grow to 256 MB.
"""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from sonde.errors import InputError

GZIP = b"\x1f\x8b"
MOST_GROWTH = 250
ALWAYS_BYTES = 256 << 20
LARGEST_JSON_BYTES = 2 << 30  # of a format that is parsed as one JSON document
_BLOCK_BYTES = 1 << 20


def open_plain(path: Path) -> BinaryIO:
    """`path` opened for reading, inflated when it is gzip."""
    file = open_regular(path)
    is_gzip = file.peek(2)[:2] == GZIP
    return cast(BinaryIO, io.BufferedReader(_Inflated(path, file))) if is_gzip else cast(BinaryIO, file)


def open_regular(path: Path) -> io.BufferedReader:
    """`path` opened, if it is an ordinary file: a pipe would block, or be empty when it is read again."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no ordinary file"
            raise InputError(f"{path} is {what}", "give a file; write the output of a command into one first")
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def read_whole(path: Path, largest_bytes: int = LARGEST_JSON_BYTES) -> bytearray:
    """All bytes of `path`; InputError when it cannot be read or holds more than `largest_bytes`."""
    try:
        with open_plain(path) as file:
            data = bytearray()  # block by block: read(2 GB) would take 2 GB for a file of any size
            while len(data) <= largest_bytes and (block := file.read(_BLOCK_BYTES)):
                data += block
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}", "is the file complete?") from None
    if len(data) > largest_bytes:
        raise InputError(f"{path} holds more than {largest_bytes >> 20} MB, the most that Sonde reads of it")
    return data


class _Inflated(io.RawIOBase):
    """A gzip file that ends in an InputError once it grew more than the bounds allow."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._gzip = gzip.GzipFile(fileobj=cast(Any, file))
        self._left = max(ALWAYS_BYTES, MOST_GROWTH * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._gzip.read1(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise InputError(
                f"{self._path} grows more than {MOST_GROWTH}-fold when it is inflated, beyond "
                f"{ALWAYS_BYTES >> 20} MB; no trace or log does",
                "if it is one, inflate it yourself: gunzip",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
