"""Lines of a text file, plain or gzip'ed, with bad bytes replaced and bounded length."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from sonde.errors import InputError
from sonde.ingest.plain_bytes import open_plain

_LONGEST = 1 << 20


def lines_of(path: Path) -> Iterator[str]:
    """Line after line without its end; InputError when the file cannot be read."""
    try:
        with open_plain(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
            while line := text.readline(_LONGEST):
                if len(line) >= _LONGEST:
                    raise InputError(f"{path} has a line longer than {_LONGEST >> 20} MB")
                yield line.rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
