"""The project's source files → a table of the recording, when the run ends.

Enters: the tables and meta of a run that ended on this machine. Leaves: one row per file that frames or
operators name, with its text. Whoever reads the recording later needs no other file, and opens none.
Only regular text files in the folder the program was started in, or beside its script, are taken: no
installed package, no hidden file, nothing that looks like a key.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde.columns import Table
from sonde.redact import hide_keys
from sonde.store import build
from sonde.store.meta import Meta

MAX_FILE_BYTES = 400_000
MAX_BYTES = 8_000_000  # of all files
MAX_FILES = 1_000
STRING, STDIN = "<string>", "<stdin>"  # what Python calls a program that is no file
_NOT_MINE = {"site-packages", "dist-packages", "venv", "node_modules", "lib-dynload"}
_SONDE = Path(__file__).resolve().parents[2]  # our own frames in the program are not the user's
_SECRET = re.compile(
    r"id_(rsa|dsa|ecdsa|ed25519).*|.*\.(pem|key|p12|pfx|kdbx|env|token)|(credentials?|secrets?|passwords?)(\..*)?",
    re.IGNORECASE,
)
_INSTALLED = re.compile(
    r"(^|/)lib\w*/(lib)?python[\d.]*/"
)  # the standard library of an interpreter in the folder
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")


@dataclass(frozen=True)
class _Source:
    data: bytes
    size: int
    changed_s: float


def source_table(tables: Mapping[str, Table], meta: Meta, texts: Mapping[str, str] | None = None) -> Table:
    """The table `sources`, the most often named files first. `texts`: of names that are no files."""
    texts = texts or {}
    roots = project_roots(meta) + _native_roots(tables)
    started = _started(meta.started)
    room = MAX_BYTES
    rows: list[tuple[str, str | None, int, bool, str | None, str | None]] = []
    for name in _named(tables):
        if len(rows) == MAX_FILES:
            break
        if name in texts:
            data = texts[name].encode("utf-8", "replace")
            found: _Source | None = _Source(data, len(data), 0.0)
        else:
            found = _read(Path(name)) if is_mine(Path(name), roots) else None
        if found is None:
            continue
        text, reason = _text(found, room)
        room -= len(text or "")
        changed = started is not None and found.changed_s > started
        digest = hashlib.sha256(found.data).hexdigest() if found.data else None
        rows.append((name, digest, found.size, changed, text, reason))
    if not rows:
        return build.empty("sources")
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ("file", "sha256", "size_bytes", "changed", "text", "left_out")
    return build.table("sources", len(rows), **dict(zip(names, columns, strict=True)))


def project_roots(meta: Meta) -> list[Path]:
    """The folder the program was started in, and the one of its script."""
    folder = Path(meta.directory or "")
    if not folder.is_absolute():
        return []
    # The script is the user's own wherever they stood when they started it; a launcher in a bin folder is not.
    script = next((a for a in meta.command if Path(a).name == meta.program), None)
    beside = (folder / script).resolve().parent if script and script.endswith(".py") else None
    return [folder.resolve()] + ([beside] if beside and beside.name != "bin" else [])


def _native_roots(tables: Mapping[str, Table]) -> list[Path]:
    """The folder of the C++ file with `main`: what the script's folder is for Python."""
    frames = tables["frames"] if "frames" in tables else build.empty("frames")  # none without the agent
    rows = np.flatnonzero(frames.text("name").equals("main") & frames.text("layer").equals("native"))
    files = {Path(file) for file in frames.text("file").take(rows).tolist() if file}
    return sorted(
        {file.parent.resolve() for file in files if file.is_absolute() and "/usr/" not in str(file)}
    )


def unnamed_script(command: list[str]) -> tuple[str, str] | None:
    """What Python calls the program, and its text: of `python -c TEXT`, or of a file on standard input."""
    if not command or "python" not in Path(command[0]).name:
        return None
    for at, word in enumerate(command[1:], 1):
        if word == "-c":
            return (STRING, command[at + 1]) if at + 1 < len(command) else None
        if word == "-m" or not word.startswith("-"):
            return None
        if word == "-":
            break
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode):  # a pipe can be read only once, by the program
            return None
        return STDIN, os.pread(0, MAX_FILE_BYTES, 0).decode("utf-8")  # the file's position stays
    except (OSError, ValueError):
        return None


def is_mine(path: Path, roots: list[Path]) -> bool:
    """Is it a file of the project that may be shown?"""
    if not path.is_absolute() or "\0" in str(path):
        return False
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return False
    if _SONDE in real.parents or _SECRET.fullmatch(real.name):
        return False
    for root in roots:
        if root in real.parents:
            parts = real.relative_to(root).parts
            hidden = any(part.startswith(".") or part in _NOT_MINE for part in parts)
            return not hidden and not _INSTALLED.search("/".join(parts))
    return False


def _named(tables: Mapping[str, Table]) -> list[str]:
    """Files that frames and ops name, most often named first."""
    count: dict[str, int] = {}
    for table in (tables[name] for name in ("frames", "ops") if name in tables):
        column = table.text("file")
        rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        for code in np.flatnonzero(rows):
            count[column.values[code]] = count.get(column.values[code], 0) + int(rows[code])
    return sorted(count, key=lambda name: (-count[name], name))


def _read(path: Path) -> _Source | None:
    """The file's bytes, none where it is too large; None where there is no such regular file."""
    try:
        descriptor = os.open(path.resolve(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return None
            data = file.read(MAX_FILE_BYTES) if found.st_size <= MAX_FILE_BYTES else b""
            return _Source(data, found.st_size, found.st_mtime)
    except (OSError, ValueError):
        return None


def _text(source: _Source, room: int) -> tuple[str | None, str | None]:
    """The text to keep, or why there is none."""
    if source.size > MAX_FILE_BYTES:
        return None, "too large"
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError:
        return None, "not text"
    if "\0" in text or _PRIVATE_KEY.search(text):
        return None, "not text" if "\0" in text else "holds a private key"
    if len(text) > room:
        return None, "no room"
    return hide_keys(text), None


def _started(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None
