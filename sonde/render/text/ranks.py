"""`sonde show REC ranks`: prints the answer of `sonde.views.ranks`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, size
from sonde.views.options import ShowOptions

NO_RANKS = "This recording has no ranks: the program made no process group, and its launcher named none."


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line(NO_RANKS)
        return
    for line in headline(data):
        page.line(line)
    page.line()
    columns = [Column("rank", right=True), Column("host"), Column("role"), Column("pid", right=True)]
    titles = (
        "steps",
        "step",
        "waiting",
        "transfer",
        "late",
        "messages",
        "last in",
        "collectives",
        "bytes",
        "CPU",
        "memory",
    )
    page.table(
        [*columns, *(Column(t, right=True) for t in titles)],
        [
            (
                r["rank"],
                r["host"],
                r["role"],
                r["pid"],
                count(r["steps"]),
                _ms(r["step_ms"]),
                _ms(r["waiting_ms"]),
                _ms(r["transfer_ms"]),
                _ms(r["late_ms"]),
                _ms(r["message_ms"]),
                "–" if r["last_in"] is None else count(r["last_in"]),
                count(r["collectives"]),
                "–" if r["sent_bytes"] is None else size(r["sent_bytes"]),
                _ms(r["cpu_ms"]),
                "–" if r["max_rss_bytes"] is None else size(r["max_rss_bytes"]),
            )
            for r in data["rows"][: options.rows(64)]
        ],
    )
    if len(data["rows"]) > options.rows(64):
        page.line(f"{len(data['rows']) - options.rows(64)} more ranks (use --limit)")
    page.line(
        f"Times per step, of {data['steps_compared']} steps that every rank made. Clocks: {data['clock']}."
    )
    groups = [g for g in data["groups"] if len(g["ranks"]) != len(data["rows"])]
    if groups:
        page.line()
        page.table(
            [Column("group"), Column("for"), Column("ranks", fold=True), Column("collectives", right=True)],
            [
                (g["name"], g["description"], ", ".join(map(str, g["ranks"])), count(g["collectives"]))
                for g in groups
            ],
        )


def headline(data: dict[str, Any]) -> list[str]:
    """What must be known first: ranks that are missing or doubled, then who is late."""
    lines = []
    if data["missing"]:
        named = ", ".join(map(str, data["missing"][:10])) + (", …" if len(data["missing"]) > 10 else "")
        lines.append(f"Of {data['world_size']} ranks, {len(data['missing'])} are missing: {named}.")
    if data["double"]:
        lines.append(f"More than one process says that it is rank {', '.join(map(str, data['double']))}.")
    if data["sentence"]:
        lines.append(data["sentence"])
    return lines


def _ms(value: float | None) -> str:
    return "–" if value is None else milliseconds(value)
