"""`sonde show REC steps`: prints the answer of `sonde.views.steps`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page, bar, sparkline
from sonde.render.text.taken import say_taken
from sonde.render.text.units import count, milliseconds, percent
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["count"]:
        page.line(
            "No steps were seen. Mark them in the program: sonde.step() in Python, sonde_step() of sonde.h in C and C++"
        )
        return
    say_taken(data["taken_away"], page)
    times = [s["ms"] for s in data["steps"]]
    warm = data["warmup"]
    kind = data["kind"] + " " if data["kind"] in ("train", "inference") else ""
    spread = f"10–90 %: {milliseconds(data['p10_ms'])} – {milliseconds(data['p90_ms'])}"
    page.line(
        f"{data['count']} {kind}steps; {warm} of them warm-up; "
        f"then median {milliseconds(data['median_ms'])} ({spread})"
    )
    if warm:
        excess = sum(times[:warm]) - warm * data["median_ms"]
        steady = "a steady step" if warm == 1 else f"{warm} steady steps"
        page.line(f"warm-up  {sparkline(times[:warm])}  {milliseconds(excess)} above {steady}")
    page.line(f"steady   {sparkline(times[warm:])}  0 to {milliseconds(max(times[warm:], default=0))}")
    if data["left_out"]:
        page.line(
            f"{data['left_out']} steady steps ran inside profiling windows, which slow them down; "
            "they are not counted here"
        )
    if data["phase_ms"]:
        page.line()
        rows = sorted(data["phase_ms"].items(), key=lambda item: -item[1])
        page.table(
            [Column("phase"), Column("median", right=True), Column("of step", right=True), Column("")],
            [
                (n, milliseconds(ms), percent(ms / data["median_ms"]), bar(ms / data["median_ms"]))
                for n, ms in rows
            ],
        )
    if data["run"]:
        page.line()
        page.table(
            [
                Column("of the run"),
                Column("time", right=True),
                Column("share", right=True),
                Column("steps or calls", right=True),
            ],
            [
                (
                    r["name"],
                    milliseconds(r["ms"]),
                    percent(r["share"]),
                    count(r["count"]) if r["count"] else "",
                )
                for r in data["run"]
            ],
        )
