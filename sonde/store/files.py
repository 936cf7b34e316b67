"""The files of a recording, and the only way to them: as descriptors, never by a name the recording chose.

Enters: the path of a recording folder, which anyone may have made. Leaves: descriptors of regular files
whose names the schema knows. Holds: no link below the folder is followed, so nothing outside it is opened.
DuckDB is given `/proc/self/fd/N`, so no name of a file ever becomes part of a statement.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sonde import rawfolder
from sonde.errors import InputError
from sonde.store.schema import TABLES

FILE_NAME = "meta.json"
MAX_META_BYTES = 64 << 20
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_TABLE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.parquet")
_RAW_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a planted FIFO must not block us


class Files(Protocol):
    """Where a recording's files are: a folder, or a packed file (`sonde.store.archive`)."""

    path: Path  # how the user calls it, for messages

    def names(self) -> list[str]:
        """`meta.json`, `TABLE/FILE.parquet` and `raw/FILE`, in a fixed order."""

    def open(self, name: str) -> int:
        """A new descriptor of one of `names`, at its start."""

    def size_bytes(self, name: str) -> int:
        """Its size."""


class Folder:
    """The files of a recording folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        found = [FILE_NAME] if os.path.lexists(self.path / FILE_NAME) else []
        for folder in (*TABLES, rawfolder.FOLDER):
            found += [f"{folder}/{name}" for name in self._inside(folder)]
        return found

    def open(self, name: str) -> int:
        *folders, last = name.split("/")
        with self._folder(folders) as inside:
            try:
                opened = os.open(last, _READ, dir_fd=inside)
            except OSError as error:
                raise self._refused(name, error) from None
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise InputError(f"{self.path} holds {name!r}, which is not a regular file")
        return opened

    def size_bytes(self, name: str) -> int:
        return os.lstat(self.path / name).st_size

    def _inside(self, folder: str) -> list[str]:
        if not os.path.lexists(self.path / folder):
            return []
        with self._folder([folder]) as inside:
            listed = sorted(os.listdir(inside))
        names = listed if folder == rawfolder.FOLDER else [n for n in listed if n.endswith(".parquet")]
        for name in names:
            if not is_known(f"{folder}/{name}"):
                raise InputError(
                    f"{self.path} holds {folder + '/' + name!r}, which does not belong to a recording"
                )
        return names

    @contextmanager
    def _folder(self, parts: list[str]) -> Iterator[int]:
        """A descriptor of the folder itself or of one in it."""
        opened = [os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        try:
            for part in parts:
                try:
                    opened.append(os.open(part, _READ | os.O_DIRECTORY, dir_fd=opened[-1]))
                except OSError as error:
                    raise self._refused("/".join(parts), error) from None
            yield opened[-1]
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _refused(self, name: str, error: OSError) -> InputError:
        if os.path.islink(self.path / name):
            return InputError(
                f"{self.path} holds a link, {name!r}; links are not followed", "copy the file itself there"
            )
        reason = "it is not a folder" if error.errno == errno.ENOTDIR else error.strerror
        return InputError(f"{name!r} of {self.path} cannot be opened: {reason}")


def is_known(name: str) -> bool:
    """Is `name` one that a recording may hold?"""
    if name == FILE_NAME:
        return True
    folder, found, last = name.partition("/")
    if not found:
        return False
    pattern = _RAW_FILE if folder == rawfolder.FOLDER else _TABLE_FILE if folder in TABLES else None
    return pattern is not None and pattern.fullmatch(last) is not None


def table_files(files: Files, table: str) -> list[str]:
    """The names of the Parquet files of one table, in a fixed order."""
    return sorted(name for name in files.names() if name.startswith(f"{table}/"))


def make_private(folder: Path) -> None:
    """Leave a finished recording to its owner, whatever the program's umask was."""
    for here, _, names in os.walk(folder):
        os.chmod(here, PRIVATE_FOLDER)
        for name in names:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                os.chmod(path, PRIVATE_FILE)


@contextmanager
def opened(files: Files, names: list[str]) -> Iterator[list[int]]:
    """Descriptors of these files, closed at the end."""
    descriptors: list[int] = []
    _make_room(len(names))
    try:
        for name in names:
            descriptors.append(files.open(name))
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _make_room(count: int) -> None:
    """A job of many processes has more files than a shell allows to be open: we open each, and DuckDB once more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + 256
    if soft != resource.RLIM_INFINITY and wanted > soft:
        room = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, room), hard))


def meta_text(files: Files) -> str:
    """The text of meta.json."""
    with opened(files, [FILE_NAME]) as (descriptor,):
        if os.fstat(descriptor).st_size > MAX_META_BYTES:
            raise InputError(f"{FILE_NAME} of {files.path} is larger than {MAX_META_BYTES >> 20} MiB")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            data = stream.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{FILE_NAME} of {files.path} cannot be read: {error}") from None
