"""`sonde show REC threads`: prints the answer of `sonde.views.threads`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.apart import say_apart
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds
from sonde.views.options import ShowOptions
from sonde.views.threads import STATES

TITLES = {"spinning": "busy-waiting"}


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows = data["rows"][: options.rows()]
    most = max((r["running_ms"] + r["spinning_ms"] + r["imbalance_ms"] for r in rows), default=0) or 1
    page.table(
        [Column("tid", right=True), Column("kind"), Column("name", fold=True)]
        + [Column(TITLES.get(state, state), right=True) for state in STATES]
        + [Column("samples", right=True), Column("on-CPU time")],
        [
            (
                r["tid"], r["kind"], r["name"],
                *(milliseconds(r[f"{s}_ms"]) for s in STATES),
                count(r["samples"]),
                bar((r["running_ms"] + r["spinning_ms"] + r["imbalance_ms"]) / most),
            )
            for r in rows
        ],
    )  # fmt: skip
    say_apart(data["apart"], "on the CPU", page)
    hidden = len(data["rows"]) - len(rows)
    if hidden > 0:
        page.line(f"… and {hidden} more threads (use --limit)")
