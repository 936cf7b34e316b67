"""`sonde show REC losses`: prints the answer of `sonde.views.losses`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows = data["rows"]
    if not rows:
        page.line("Nothing was lost.")
        return
    page.table(
        [Column("cause"), Column("count", right=True), Column("unit"), Column("detail", fold=True)],
        [(r["cause"], count(r["count"]), r["unit"], r["detail"]) for r in rows[: options.rows()]],
    )
