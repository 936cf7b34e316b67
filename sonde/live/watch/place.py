"""The folder of a watch, beside the recording: NAME.watch.

minutes.jsonl                     a line for each minute, and for each recording that was saved or could not be
watch.json                        who watches what, for `sonde watch --save`
20261118-201500-slow-step.sonde   recordings; of those that nobody asked for only the newest stay
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde import rawfolder
from sonde.errors import InputError
from sonde.store.files import PRIVATE_FOLDER

MINUTES, WATCHER, LOG = "minutes.jsonl", "watch.json", "watch.log"
LONG_AGO_S = 60.0  # beyond the ring: when the files of a process that has ended are removed


@dataclass(frozen=True)
class Place:
    """One watch's folder."""

    folder: Path

    def make(self, recording: Path) -> None:
        """Take the folder for this process. InputError: another one watches this recording."""
        self.folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        other = self.watcher()
        if other is not None and other != os.getpid():
            raise InputError(
                f"process {other} watches {recording} already", f"sonde watch --save {recording}"
            )
        told = {"pid": os.getpid(), "started": _started(os.getpid()), "recording": str(recording.resolve())}
        path = self.folder / WATCHER
        partial = path.with_suffix(".partial")
        partial.touch(0o600)
        partial.write_text(json.dumps(told), encoding="utf-8")
        partial.replace(path)

    def watcher(self) -> int | None:
        """The process that watches now."""
        try:
            told = json.loads((self.folder / WATCHER).read_text(encoding="utf-8"))
            pid, started = int(told["pid"]), told["started"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return pid if started and _started(pid) == started else None

    def leave(self) -> None:
        (self.folder / WATCHER).unlink(missing_ok=True)

    def add(self, line: str) -> None:
        """Append to the minutes. OSError: it is not there, not even a part of it."""
        path = self.folder / MINUTES
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(fd).st_size
            data = line.encode() + b"\n"
            try:
                whole = os.write(fd, data) == len(data)
            except OSError:
                whole = False
            if not whole:
                os.ftruncate(fd, size)
                raise OSError(28, "No space left on device")
        finally:
            os.close(fd)

    def lines(self) -> list[dict[str, Any]]:
        """What has been written so far."""
        path = self.folder / MINUTES
        return (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if path.exists()
            else []
        )

    def name_for(self, kind: str, epoch_s: float) -> Path:
        stem = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(epoch_s))}-{kind}"
        path, number = self.folder / f"{stem}.sonde", 1
        while path.exists():
            number += 1
            path = self.folder / f"{stem}-{number}.sonde"
        return path

    def keep_newest(self, kinds: tuple[str, ...], most: int) -> None:
        """Remove the oldest recordings of these kinds."""
        found = [
            path for path in self.folder.glob("*.sonde") if any(f"-{kind}" in path.name for kind in kinds)
        ]
        for path in sorted(found, key=lambda path: path.name)[: max(len(found) - most, 0)]:
            shutil.rmtree(path, ignore_errors=True)


def of_recording(recording: Path) -> Place:
    return Place(recording.with_name(f"{recording.name.removesuffix('.sonde')}.watch"))


def sweep(raw: Path, ring_s: float, now_s: float) -> int:
    """Remove the files of processes that ended before the ring begins; of how many processes."""
    removed = 0
    for file in rawfolder.LOG.find(raw):
        try:
            old = now_s - file.path.stat().st_mtime > ring_s + LONG_AGO_S
        except OSError:
            continue
        if not old or Path(f"/proc/{file.pid}").exists():
            continue
        others = [one for one in rawfolder.LOG.find(raw) if one.pid == file.pid and one.path != file.path]
        for path in raw.iterdir():
            if path.name.startswith(file.path.name if others else f"{file.pid}."):
                path.unlink(missing_ok=True)
        removed += 1
    return removed


def _started(pid: int) -> str:
    """The kernel's start time of a process: tells it from a later one with the same number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text[text.rindex(")") + 2 :].split()[19]
