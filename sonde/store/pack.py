"""A recording as one file to send: a zip whose members are stored, not squeezed again.

Parquet is compressed already. Zip was chosen because every system opens it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from sonde.errors import InputError, UsageError
from sonde.store.meta import FILE_NAME

SUFFIX = ".sonde.zip"
# A packed recording larger than this once unpacked is refused: no real one is.
MAX_UNPACKED_BYTES = 200 << 30


def is_packed(path: Path) -> bool:
    """Is `path` a zip that holds a recording?"""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(PurePosixPath(n).name == FILE_NAME for n in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def pack(folder: Path, target: Path, raw: bool = False) -> int:
    """Write `folder` to `target`; returns its size in bytes. Raw logs are left out unless asked for."""
    if target.exists():
        raise UsageError(f"{target} exists already", "name another with -o, or add --force")
    partial = target.with_name(target.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            inner = path.relative_to(folder)
            if inner.parts[0] == "raw" and not raw:
                continue
            archive.write(path, str(PurePosixPath(folder.name, *inner.parts)))
    partial.replace(target)
    return target.stat().st_size


def unpack(archive_path: Path, into: Path) -> Path:
    """Extract a packed recording below `into`; returns the recording's folder."""
    try:
        with zipfile.ZipFile(archive_path) as archive:
            members = archive.infolist()
            _check(archive_path, members)
            archive.extractall(into)
            names = [PurePosixPath(m.filename) for m in members]
    except zipfile.BadZipFile as error:
        raise InputError(f"{archive_path} is damaged: {error}", "ask for it to be packed again") from None
    meta = [n for n in names if n.name == FILE_NAME]
    if len(meta) != 1:
        raise InputError(f"{archive_path} holds {len(meta)} recordings; one was expected")
    return into / meta[0].parent


def _check(path: Path, members: list[zipfile.ZipInfo]) -> None:
    total = sum(m.file_size for m in members)
    if total > MAX_UNPACKED_BYTES:
        raise InputError(f"{path} would unpack to {total / 1e9:.0f} GB; that is no recording")
    for member in members:
        inner = PurePosixPath(member.filename)
        if inner.is_absolute() or ".." in inner.parts:
            raise InputError(f"{path} has a member outside its folder: {member.filename!r}")
