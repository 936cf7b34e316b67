"""Source text of the user's own files → the page.

Only files inside the project's folders are embedded, never installed
packages, unless the caller names other folders; `no_source` embeds none. What
is embedded is as it is on disk now; a file that has changed since the
recording is marked so.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from sonde.columns import Text
from sonde.render.html.limits import Limits
from sonde.render.html.options import ReportOptions
from sonde.render.html.payload import Payload
from sonde.render.html.strings import visible
from sonde.store.recording import Recording

_NOT_MINE = {"site-packages", "dist-packages", ".venv", "venv", "node_modules", ".tox", "lib-dynload"}
MAX_FILE_BYTES = 400_000
_SONDE = Path(__file__).resolve().parents[2]  # our own frames in the program are not the user's


def add_source(payload: Payload, recording: Recording, options: ReportOptions, limits: Limits) -> None:
    """Put the text of project files that frames or ops name into the facts."""
    files: list[dict[str, Any]] = []
    skipped: list[str] = []
    roots = _roots(recording, options)
    budget = limits.source_bytes
    started = _started(recording.meta.started)
    for name in _named(recording):
        path = Path(name)
        if options.no_source or not _mine(path, roots):
            continue
        try:
            size = path.stat().st_size
            if size > MAX_FILE_BYTES or size > budget:
                skipped.append(visible(name))
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            changed = started is not None and path.stat().st_mtime > started
        except (OSError, ValueError):
            continue
        budget -= size
        lines = [visible(line.expandtabs(4)) for line in text.splitlines()]
        files.append({"file": payload.strings(name), "lines": lines, "changed": changed})
    payload.facts["source"] = {
        "files": files,
        "skipped": skipped[:50],
        "off": options.no_source,
        "roots": [visible(str(r)) for r in roots],
    }


def _roots(recording: Recording, options: ReportOptions) -> list[Path]:
    if options.source_roots:
        return [root.resolve() for root in options.source_roots]
    folder = Path(recording.meta.directory or "")
    if not folder.is_absolute():
        return []
    # The script is the user's own wherever they stood when they started it; a launcher in a bin folder is not.
    script = next((a for a in recording.meta.command if Path(a).name == recording.meta.program), None)
    beside = (folder / script).resolve().parent if script and script.endswith(".py") else None
    return [folder.resolve()] + ([beside] if beside and beside.name != "bin" else [])


def _mine(path: Path, roots: list[Path]) -> bool:
    if not path.is_absolute() or "\0" in str(path):
        return False
    if _SONDE in path.resolve().parents:
        return False
    for root in roots:
        try:
            inner = path.resolve().relative_to(root)
        except (ValueError, OSError):
            continue
        return not _NOT_MINE.intersection(inner.parts) and not any(
            part.startswith("lib") and "python" in part for part in inner.parts
        )
    return False


def _named(recording: Recording) -> list[str]:
    """Files that frames and ops name, most often named first."""
    count: dict[str, int] = {}
    for table in ("frames", "ops"):
        column: Text = recording.table(table).text("file")
        rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        for code in np.flatnonzero(rows):
            count[column.values[code]] = count.get(column.values[code], 0) + int(rows[code])
    return sorted(count, key=lambda name: (-count[name], name))


def _started(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None
