"""The files of a packed recording: a zip from anyone, whose members are checked before one is read.

Only stored members are taken, so that a file never holds more than its own size; only names that the
schema knows; no links, no duplicates. A member is read into a temporary file that has no name: however
Sonde ends, nothing is left behind.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from sonde.errors import InputError
from sonde.store.files import FILE_NAME, is_known

MAX_MEMBERS = 100_000
_AGAIN = "ask for it to be packed again with: sonde pack"
_DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,  # a compression or version that zipfile does not know
    RuntimeError,  # encrypted
    ValueError,
)


class Archive:
    """The checked members of one packed recording."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            self._members = _checked(path, self._zip.infolist())
        except _DAMAGE as error:
            raise InputError(f"{path} is damaged: {error}", _AGAIN) from None

    def names(self) -> list[str]:
        return sorted(self._members)

    def open(self, name: str) -> int:
        if name not in self._members:
            raise InputError(f"{self.path} has no {name}", _AGAIN)
        with tempfile.TemporaryFile() as file:
            self.copy(name, file)
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            return os.dup(file.fileno())

    def copy(self, name: str, target: BinaryIO) -> None:
        """Write one member to `target`."""
        member = self._members[name]
        try:
            with self._zip.open(member) as source:
                shutil.copyfileobj(source, target, 1 << 20)
        except _DAMAGE as error:
            raise InputError(f"{self.path} is damaged: {error}", _AGAIN) from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be unpacked: {error.strerror or error}") from None

    def size_bytes(self, name: str) -> int:
        return self._members[name].file_size


def is_packed(path: Path) -> bool:
    """Is `path` a zip that holds a recording?"""
    try:
        if not path.is_file() or not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            return any(PurePosixPath(n).name == FILE_NAME for n in archive.namelist())
    except (*_DAMAGE, OSError):
        return False


def _checked(path: Path, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members by their name in the recording."""
    if len(members) > MAX_MEMBERS:
        raise InputError(f"{path} has {len(members):,} members; a recording has at most {MAX_MEMBERS:,}")
    meta = [m.filename for m in members if PurePosixPath(m.filename).name == FILE_NAME]
    if len(meta) != 1:
        raise InputError(f"{path} holds {len(meta)} recordings; one was expected")
    root = meta[0].removesuffix(FILE_NAME)
    found: dict[str, zipfile.ZipInfo] = {}
    for member in members:
        if not member.filename:  # `is_dir` looks at its last character
            raise InputError(f"{path} has a member without a name")
        if member.is_dir() and member.file_size == 0:
            continue  # zip programs add entries for folders
        name = member.filename
        if name.startswith("/") or ".." in name.split("/"):
            raise InputError(f"{path} has a member outside its folder: {name!r}")
        inner = name.removeprefix(root)
        if not name.startswith(root) or root.count("/") > 1 or not is_known(inner):
            raise InputError(f"{path} has a member that does not belong to a recording: {name!r}")
        if inner in found:
            raise InputError(f"{path} has two members called {name!r}")
        found[inner] = member
        _check_form(path, member)
    stored = sum(m.file_size for m in found.values())
    if stored > path.stat().st_size:
        raise InputError(f"{path} declares {stored:,} bytes, more than the file has", _AGAIN)
    return found


def _check_form(path: Path, member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise InputError(f"{path} has a member that is a link or no regular file: {member.filename!r}")
    if member.flag_bits & 1:
        raise InputError(f"{path} is encrypted", _AGAIN)
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        raise InputError(f"{path} has a compressed member, {member.filename!r}", _AGAIN)
