"""A recording as one file to send: a zip whose members are stored, not compressed again.

Parquet is compressed already. Zip was chosen because every system opens it.
"""

from __future__ import annotations

import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import BinaryIO

from sonde import rawfolder
from sonde.errors import UsageError
from sonde.store.archive import Archive
from sonde.store.files import PRIVATE_FILE, PRIVATE_FOLDER, Folder, opened

SUFFIX = ".sonde.zip"


def pack(folder: Path, target: Path, raw: bool = False) -> int:
    """Write the recording's own files to `target`; returns its size in bytes. Raw logs only if asked for."""
    if target.exists():
        raise UsageError(f"{target} already exists", "name another with -o, or add --force")
    files = Folder(folder)
    partial = target.with_name(target.name + ".partial")
    try:
        with _private(partial) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name in files.names():
                if raw or not name.startswith(f"{rawfolder.FOLDER}/"):
                    _add(archive, files, name)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size


def unpack(archive_path: Path, into: Path) -> Path:
    """Write a packed recording to a new folder in `into`; returns that folder."""
    archive = Archive(archive_path)
    folder = into / "recording"  # not what the archive calls it
    folder.mkdir(mode=PRIVATE_FOLDER)
    for name in archive.names():
        path = folder / name
        path.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        with _private(path) as stream:
            archive.copy(name, stream)
    return folder


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE), "wb")


def _add(archive: zipfile.ZipFile, files: Folder, name: str) -> None:
    with opened(files, [name]) as (descriptor,), os.fdopen(os.dup(descriptor), "rb") as source:
        changed = time.localtime(max(os.fstat(descriptor).st_mtime, 315_619_200))  # zip begins in 1980
        outer = os.fsencode(files.path.resolve().name).decode("utf-8", "replace")
        member = zipfile.ZipInfo(f"{outer}/{name}", changed[:6])
        member.external_attr = PRIVATE_FILE << 16
        with archive.open(member, "w", force_zip64=True) as target:
            shutil.copyfileobj(source, target, 1 << 20)
