"""`sonde show REC contents`: what the recording holds and who may open it, to read before it is sent."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import Any

from sonde.rawfolder import FOLDER as RAW
from sonde.redact import hide_command, hide_environment
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from sonde.views.options import ShowOptions


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`tables`, `sources`, `command`, `environment`, `raw_bytes`, `readers`."""
    meta, files = recording.meta, recording.files
    sizes = {name: files.size_bytes(name) for name in files.names()} if files else {}
    tables = []
    for name, spec in TABLES.items():
        rows = len(recording.table(name))
        if rows:
            stored = sum(n for file, n in sizes.items() if file.startswith(f"{name}/")) if files else None
            tables.append({"table": name, "rows": rows, "bytes": stored, "row_is": spec.row_is})
    sources = recording.table("sources")
    return {
        "tables": tables,
        "sources": [
            {
                "file": sources.text("file")[i],
                "bytes": int(sources.array("size_bytes")[i]),
                "sha256": sources.text("sha256")[i],
                "left_out": sources.text("left_out")[i],
            }
            for i in range(len(sources))
        ],
        "command": hide_command(meta.command),
        "directory": meta.directory,
        "host": meta.machine.get("host"),
        "environment": hide_environment(meta.environment),
        "raw_bytes": sum(n for file, n in sizes.items() if file.startswith(f"{RAW}/")),
        "readers": _readers(recording.path) if recording.path else None,
    }


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
