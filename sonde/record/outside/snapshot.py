"""A finished recording of a job that still runs: its raw logs as they are now, made into tables beside it.

Enters: the folder of a recording in progress, and where to write. Leaves: a recording like any other; the
job's own goes on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

from sonde import rawfolder
from sonde.errors import InputError
from sonde.record.outside.finalise import recover
from sonde.record.outside.place import check
from sonde.store.files import FILE_NAME, PRIVATE_FOLDER
from sonde.store.recording import Recording

TRIES = 10


def snapshot(folder: Path, to: Path) -> Recording:
    """Copy and finish. A log that grows meanwhile is cut where it was copied, which readers expect of it."""
    check(to)
    to.mkdir(mode=PRIVATE_FOLDER)
    try:
        _copy(folder / rawfolder.FOLDER, to / rawfolder.FOLDER)
        if (folder / FILE_NAME).exists():
            shutil.copyfile(folder / FILE_NAME, to / FILE_NAME)
        recording = recover(to, source=True, goes_on=True)
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)
        raise
    shutil.rmtree(to / rawfolder.FOLDER)
    return recording


def _copy(raw: Path, to: Path) -> None:
    """All files, each under the name that it has at one moment: those of a ring are renamed and removed meanwhile."""
    to.mkdir(mode=PRIVATE_FOLDER)
    with contextlib.ExitStack() as opened:
        for _ in range(TRIES):
            opened.close()
            found = {}
            names = sorted(os.listdir(raw))
            with contextlib.suppress(FileNotFoundError):
                found = {name: opened.enter_context(_open(raw / name)) for name in names}
            if len(found) == len(names) and sorted(os.listdir(raw)) == names:
                break
        for name, file in found.items():
            with (to / name).open("wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)


def _open(path: Path) -> BinaryIO:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InputError(f"{path} is no regular file")
    return open(fd, "rb")
