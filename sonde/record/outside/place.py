"""Where a recording goes: the folder that was asked for, or the next best one where writing works.

Enters: the wanted folder. Leaves: folders to try in turn, and why one was not used.
A program runs whether or not it can be recorded, so nothing here stops it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

_TRAPS = "\ufffd\\'\"`$*?"
LONGEST_BYTES = 399  # of the folder's whole path: native/agent/core/options.h


def readable(text: str) -> str:
    """`text` with bytes that are no UTF-8 (file names may have such) escaped: it can be stored and printed."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def one_line(path: Path) -> str:
    """`path` for a message: control characters are escaped too."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in readable(str(path)))


def plain_name(name: str) -> str:
    """`name` for a folder of ours: what is no UTF-8, not printable or a trap in a shell becomes a `_`."""
    decoded = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() and c not in _TRAPS else "_" for c in decoded) or "program"


def places(wanted: Path) -> Iterator[Path]:
    """`wanted`, then a name beside it, then one in the folder for temporary files: all of them new."""
    yield wanted
    yield _free(wanted.parent / plain_name(wanted.name))
    try:
        yield _free(Path(tempfile.gettempdir()) / plain_name(wanted.name))
    except OSError:  # no folder for temporary files at all
        return


def check(folder: Path) -> None:
    """OSError says why `folder` cannot hold a recording."""
    size = len(os.fsencode(folder.absolute()))
    if size > LONGEST_BYTES:
        raise OSError(errno.ENAMETOOLONG, f"its path has {size} bytes; at most {LONGEST_BYTES} are possible")
    try:
        str(folder).encode("utf-8")
    except UnicodeEncodeError:  # DuckDB takes no other names
        raise OSError(errno.EINVAL, "its name is not UTF-8") from None


def _free(path: Path) -> Path:
    number = 1
    free = path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
