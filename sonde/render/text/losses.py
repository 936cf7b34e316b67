"""`sonde show REC losses`: everything that is known to be missing or doubtful."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`rows`: cause, count, unit, detail; most first."""
    losses = recording.table("losses")
    rows = [
        {
            "cause": losses.text("cause")[i],
            "count": int(losses.array("count")[i]),
            "unit": losses.text("unit")[i],
            "detail": losses.text("detail")[i],
        }
        for i in range(len(losses))
    ]
    return {"rows": sorted(rows, key=lambda row: -int(row["count"] or 0))}


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows = data["rows"]
    if not rows:
        page.line("Nothing was lost.")
        return
    page.table(
        [Column("cause"), Column("count", right=True), Column("unit"), Column("detail", fold=True)],
        [(r["cause"], count(r["count"]), r["unit"], r["detail"]) for r in rows[: options.rows()]],
    )
