"""Resolved addresses kept between runs: one file of JSON lines per build id.

Safe for concurrent use without locks: a file only ever grows, each batch by one
append-mode write, and a reader skips what it cannot parse. A resolution that is found twice
is the same twice. The folder name carries a version; another version is another folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

VERSION = 4


@dataclass(frozen=True)
class Resolved:
    """What is known about a code address of a library."""

    address: int  # virtual address in the file, -1 when it is not in code
    start: int  # first address of the function, -1 unknown
    name: str  # full demangled name, "" unknown
    frames: tuple[tuple[str, str | None, int], ...] = ()  # function, file, line; innermost first; from DWARF
    near: str = ""  # without a name: the exported function that comes before it


def default_folder() -> Path | None:
    """$SONDE_CACHE, else $XDG_CACHE_HOME/sonde, else ~/.cache/sonde; SONDE_CACHE= switches it off."""
    chosen = os.environ.get("SONDE_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "sonde"


class Known:
    """Offset → Resolved. A library's file holds what all runs ever asked for; a line is parsed when it is asked for."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._line = {line.partition(b",")[0]: line for line in lines}  # `[OFFSET` is how a line begins
        self._parsed: dict[int, Resolved] = {}

    def get(self, offset: int) -> Resolved | None:
        found = self._parsed.get(offset)
        if found is None and (line := self._line.get(b"[%d" % offset)) is not None:
            found = _parse(line)
            if found is not None:
                self._parsed[offset] = found
        return found

    def update(self, fresh: dict[int, Resolved]) -> None:
        self._parsed.update(fresh)


def _parse(line: bytes) -> Resolved | None:
    try:
        _, address, start, name, frames, near = json.loads(line)
        return Resolved(address, start, name, tuple((f, p, n) for f, p, n in frames), near)
    except (ValueError, TypeError):
        return None  # a line cut short by a crash or mixed by a filesystem without atomic appends


class SymbolCache:
    """Offsets of one library → Resolved. `key` is its build id and whether lines were available."""

    def __init__(self, folder: Path | None, key: str) -> None:
        safe = re.sub(r"[^0-9A-Za-z_.-]", "_", key)
        self._path = folder / f"symbols-v{VERSION}" / f"{safe}.jsonl" if folder else None
        self._known: Known | None = None

    def known(self) -> Known:
        if self._known is None:
            self._known = Known(self._lines())
        return self._known

    def add(self, fresh: dict[int, Resolved], keep: bool = True) -> None:
        """Remember, on disk only with `keep`; a cache that cannot be written is no error."""
        self.known().update(fresh)
        if self._path is None or not fresh or not keep:
            return
        text = "".join(
            json.dumps([offset, r.address, r.start, r.name, r.frames, r.near], separators=(",", ":")) + "\n"
            for offset, r in fresh.items()
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return

    def _lines(self) -> list[bytes]:
        try:
            return self._path.read_bytes().split(b"\n") if self._path else []
        except OSError:
            return []
