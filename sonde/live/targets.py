"""Which programs can be looked at now, and where the recording of one that Sonde records lies.

Enters: /proc. Leaves: for a process the folder that the agent inside it writes to, and a list of candidates for people.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sonde import rawfolder
from sonde.record.frameworks.known import FRAMEWORKS

_FOLDER_VARIABLE = b"SONDE_AGENT_FOLDER="
_PYTHON = ("libpython", "/python3")


@dataclass(frozen=True)
class Candidate:
    """A program of this user that Sonde could look at."""

    pid: int
    command: str
    what: str  # torch, Python, C++ torch …
    folder: Path | None  # being recorded, there


def recording_of(pid: int) -> Path | None:
    """The recording that this process is part of while it runs, if it was started by `sonde run`."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    for entry in environment:
        if entry.startswith(_FOLDER_VARIABLE):
            folder = Path(os.fsdecode(entry[len(_FOLDER_VARIABLE) :]))
            has_log = (folder / rawfolder.FOLDER).is_dir() and any(
                file.pid == pid for file in rawfolder.LOG.find(folder / rawfolder.FOLDER)
            )
            return folder if has_log else None
    return None


def candidates() -> list[Candidate]:
    """Python and torch programs whose memory map this user may read, those with torch first."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        one = _candidate(int(entry.name))
        if one is not None:
            found.append(one)
    return sorted(found, key=lambda one: (one.folder is None, "torch" not in one.what, one.pid))


def _candidate(pid: int) -> Candidate | None:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    has_python = any(name in maps for name in _PYTHON)
    kinds = [one.name for one in FRAMEWORKS if one.library and one.library in maps]
    if not kinds and not has_python:
        return None
    what = " + ".join([*kinds, *(["Python"] if has_python else [])])
    return Candidate(pid, " ".join(os.fsdecode(word) for word in words), what, recording_of(pid))
