"""`--by rank`: prints the answer of `sonde.views.by_rank`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import milliseconds, size
from sonde.views.options import ShowOptions

MOST_COLUMNS = 8  # ranks that get a column of their own


def show_spread(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line("Nothing to show: no rank has rows for this view.")
        return
    write = size if data["unit"] == "bytes" else milliseconds
    ranks = list(data["rows"][0]["ranks"])
    own = ranks if len(ranks) <= MOST_COLUMNS else []
    titles = [f"rank {r}" for r in own] or ["median", "least", "most", "by rank"]
    page.line(f"{len(ranks)} ranks: {data['figure']}, what differs most first.")
    page.table(
        [Column("name", fold=True), Column("apart", right=True), *(Column(t, right=True) for t in titles)],
        [
            (
                r["name"],
                write(r["most"] - r["least"]),
                *(
                    [write(r["ranks"][n]) for n in own]
                    or [write(r["median"]), write(r["least"]), write(r["most"]), r["most_rank"]]
                ),
            )
            for r in data["rows"][: options.rows()]
        ],
    )
    if len(data["rows"]) > options.rows():
        page.line(f"{len(data['rows']) - options.rows()} more rows (use --limit)")
