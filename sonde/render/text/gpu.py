"""`sonde show REC gpu`: what each device did between its first and last event, and stragglers."""

from __future__ import annotations

from typing import Any

from sonde.analyze.gpu_summary import gpu_summary
from sonde.analyze.rank_summary import summaries
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`devices` and `stragglers`; keys as in docs/reference."""
    return gpu_summary(summaries(recording.table, recording.meta.program)).to_json()


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["devices"]:
        page.line("No GPU events were recorded.")
        return
    names = ("window", "busy", "idle", "compute", "communication", "copy", "overlap")
    columns = [Column("rank", right=True), Column("device", right=True), Column("events", right=True)]
    page.table(
        columns + [Column(n, right=True) for n in names] + [Column("idle %", right=True)],
        [
            (
                "–" if d["rank"] < 0 else d["rank"], d["device"], count(d["events"]),
                *(milliseconds(d[f"{n}_ms"]) for n in names),
                percent(d["idle_ms"] / d["window_ms"] if d["window_ms"] else 0.0),
            )
            for d in data["devices"]
        ],
    )  # fmt: skip
    for straggler in data["stragglers"]:
        page.line(f"rank {straggler['rank']} is late: {straggler.get('cause', 'cause not known')}")
