"""`sonde show REC contents`: what the recording holds and who may open it, to read before it is sent."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from pathlib import Path
from typing import Any

from sonde.redact import hide_command, hide_environment
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, size
from sonde.render.text.view import ShowOptions
from sonde.store.files import RAW
from sonde.store.recording import Recording
from sonde.store.schema import TABLES


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


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    page.table(
        [
            Column("table"),
            Column("rows", right=True),
            Column("on disk", right=True),
            Column("a row is", fold=True),
        ],
        [(t["table"], count(t["rows"]), _size(t["bytes"]), t["row_is"]) for t in data["tables"]],
    )
    page.line()
    kept = [s for s in data["sources"] if not s["left_out"]]
    page.line(f"Source files: {len(kept)}" + ("" if kept else " (no source code in this recording)"))
    for source in data["sources"][: options.rows()]:
        why = f", not kept: {source['left_out']}" if source["left_out"] else ""
        page.line(f"  {source['file']}  {size(source['bytes'])}{why}")
    page.line(f"Command:      {shlex.join(data['command']) or 'not known'}")
    page.line(f"Directory:    {data['directory'] or 'not known'}")
    page.line(f"Host:         {data['host'] or 'not known'}")
    page.line(f"Environment:  {', '.join(data['environment']) or 'no variables'}")
    page.line(f"Raw logs:     {size(data['raw_bytes']) if data['raw_bytes'] else 'none'}")
    page.line(f"Readable by:  {data['readers'] or 'this process (not a file of its own)'}")
    page.line(
        "Secrets that Sonde recognised are shown as ***. See docs/privacy.md for what it cannot recognise."
    )


def _size(stored: int | None) -> str:
    return "–" if stored is None else size(stored)


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
