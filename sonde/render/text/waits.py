"""`sonde show REC waits`: prints the answer of `sonde.views.waits`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.apart import say_apart
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line("No waiting was recorded.")
        _left_out(data, page)
        return
    most = max(data["reasons"].values())
    page.table(
        [Column("reason"), Column("time off the CPU, all threads", right=True), Column("")],
        [(r, milliseconds(ms), bar(ms / most if most else 0.0)) for r, ms in data["reasons"].items()],
    )
    page.line()
    columns = [Column("thread"), Column("reason"), Column("waiting", right=True), Column("waits", right=True)]
    page.table(
        [*columns, Column("Python", fold=True), Column("native", fold=True)],
        [
            (
                r["kind"],
                r["reason"],
                milliseconds(r["waiting_ms"]),
                count(r["waits"]),
                r["python"],
                r["place"],
            )
            for r in data["rows"][: options.rows()]
        ],
    )
    _left_out(data, page)


def _left_out(data: dict[str, Any], page: Page) -> None:
    say_apart(data["apart"], "off the CPU, all threads", page)
    if data["profilers_ms"] >= 1:
        page.line(
            f"Not listed: {milliseconds(data['profilers_ms'])} of waits of Sonde and of torch's profiler."
        )
