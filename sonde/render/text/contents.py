"""`sonde show REC contents`: prints the answer of `sonde.views.contents`."""

from __future__ import annotations

import shlex
from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, size
from sonde.views.options import ShowOptions


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
