"""`contents`: what the recording holds and who may open it, to read before it is sent."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sonde.rawfolder import FOLDER as RAW
from sonde.redact import hide_command, hide_environment
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from sonde.views.columns import Column
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class StoredTable:
    """A table that has rows."""

    table: Annotated[str, Column("table", meaning="its name")]
    rows: Annotated[int, Column("rows", "count", "rows in it")]
    bytes: Annotated[int | None, Column("on disk", "bytes", "size of its files; null: nothing is stored")]
    row_is: Annotated[str, Column("a row is", meaning="what one row stands for")]


@dataclass(frozen=True)
class SourceFile:
    """A source file that the recording carries, or left out."""

    file: Annotated[str | None, Column("file", meaning="its path")]
    bytes: Annotated[int, Column("size", "bytes", "its size")]
    sha256: Annotated[str | None, Column("sha256", meaning="its checksum when the program ran")]
    left_out: Annotated[str | None, Column("not kept", meaning="why its text is not in the recording")]


@dataclass(frozen=True)
class Contents:
    """What someone who gets the recording can read in it."""

    tables: list[StoredTable]
    sources: list[SourceFile]
    command: list[str]
    directory: str
    host: str | None
    environment: dict[str, str]
    raw_bytes: int
    readers: str | None  # who may open it; null: it is not a file


def data(recording: Recording, options: ShowOptions) -> Contents:
    meta, files = recording.meta, recording.files
    sizes = {name: files.size_bytes(name) for name in files.names()} if files else {}
    tables = []
    for name, spec in TABLES.items():
        rows = len(recording.table(name))
        if rows:
            stored = sum(n for file, n in sizes.items() if file.startswith(f"{name}/")) if files else None
            tables.append(StoredTable(name, rows, stored, spec.row_is))
    return Contents(
        tables=tables,
        sources=_sources(recording),
        command=hide_command(meta.command),
        directory=meta.directory,
        host=meta.machine.get("host"),
        environment=hide_environment(meta.environment),
        raw_bytes=sum(n for file, n in sizes.items() if file.startswith(f"{RAW}/")),
        readers=_readers(recording.path) if recording.path else None,
    )


def _sources(recording: Recording) -> list[SourceFile]:
    table = recording.table("sources")
    columns = (table.text("file"), table.text("sha256"), table.text("left_out"))
    rows = zip(*(column.tolist() for column in columns), table.array("size_bytes").tolist(), strict=True)
    return [SourceFile(file, size, digest, left_out) for file, digest, left_out, size in rows]


def _readers(path: Path) -> str:
    """Who the file system lets open it."""
    found = os.stat(path)
    mode = stat.S_IMODE(found.st_mode)
    try:
        owner = pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        owner = f"user {found.st_uid}"
    others = (
        "everyone"
        if mode & 0o004
        else f"{owner} and group {found.st_gid}"
        if mode & 0o040
        else f"{owner} only"
    )
    return f"{others} (mode {mode:04o})"
