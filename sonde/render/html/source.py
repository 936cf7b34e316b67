"""Source text that the recording carries → the page. No file is opened: what is not in it is not shown."""

from __future__ import annotations

from typing import Any

from sonde.render.html.limits import Limits
from sonde.render.html.options import ReportOptions
from sonde.render.html.payload import Payload
from sonde.render.html.strings import visible
from sonde.store.recording import Recording


def add_source(payload: Payload, recording: Recording, options: ReportOptions, limits: Limits) -> None:
    """Put the recorded text of project files into the facts, as far as the page has room."""
    sources = recording.table("sources")
    files: list[dict[str, Any]] = []
    skipped: list[str] = []
    room = limits.source_bytes
    for row in range(0 if options.no_source else len(sources)):
        name, text = sources.text("file")[row], sources.text("text")[row]
        if name is None:
            continue
        if text is None or len(text) > room:
            skipped.append(visible(name))
            continue
        room -= len(text)
        lines = [visible(line.expandtabs(4)) for line in text.splitlines()]
        changed = bool(sources.array("changed")[row])
        files.append({"file": payload.strings(name), "lines": lines, "changed": changed})
    payload.facts["source"] = {"files": files, "skipped": skipped[:50], "off": options.no_source}
