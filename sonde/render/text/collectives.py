"""`sonde show REC collectives`: prints the answer of `sonde.views.collectives`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent, size
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line(
            "No collective was recorded: gloo's are recorded under `sonde run`; of others see: sonde show REC gpu"
        )
        return
    line = (
        f"{count(data['calls'])} calls on {data['ranks']} ranks, {count(data['shared'])} matched across ranks"
    )
    if data["unfinished"]:
        line += f", {count(data['unfinished'])} that not every rank finished"
    if data["mismatched"]:
        line += f", {count(data['mismatched'])} that differ between ranks"
    page.line(line + ".")
    if data["per_step_waiting_ms"] is not None:
        page.line(
            f"Per step and rank: {milliseconds(data['per_step_waiting_ms'])} waiting for the last rank, "
            f"{milliseconds(data['per_step_transfer_ms'])} transfer; "
            f"{milliseconds(data['per_step_exposed_ms'])} of both exposed (the thread did nothing else)."
        )
    page.line()
    by_rank = [Column("rank", right=True)] if options.by == "rank" else []
    titles = ("size", "calls", "per step", "time", "waiting", "transfer", "exposed", "GB/s", "last")
    page.table(
        [
            Column("kind"),
            *by_rank,
            Column("group"),
            *(Column(t, right=True) for t in titles),
            Column("line", fold=True),
        ],
        [_cells(r, bool(by_rank)) for r in data["rows"][: options.rows()]],
    )
    if len(data["rows"]) > options.rows():
        page.line(f"{len(data['rows']) - options.rows()} more rows (use --limit)")
    page.line("Times per call. Waiting: until the last rank came; transfer: from then to the end.")


def _cells(r: dict[str, Any], by_rank: bool) -> list[object]:
    last = "–" if r["last_rank"] is None else f"rank {r['last_rank']}, {percent(r['last_share'])}"
    place = "–" if r["file"] is None else f"{r['file'].rpartition('/')[2]}:{r['line']}"
    return [
        r["kind"],
        *([r["rank"]] if by_rank else []),
        r["group"],
        "–" if r["bytes"] is None else size(r["bytes"]),
        count(r["calls"]),
        "–" if r["per_step"] is None else f"{r['per_step']:.3g}",
        *(
            "–" if r[k] is None else milliseconds(r[k])
            for k in ("total_ms", "waiting_ms", "transfer_ms", "exposed_ms")
        ),
        "–" if r["bandwidth_gbs"] is None else f"{r['bandwidth_gbs']:.3g}",
        last,
        place,
    ]
