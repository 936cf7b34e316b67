"""`sonde show REC account`: prints the answer of `sonde.views.account`."""

from __future__ import annotations

from typing import Any

from sonde.analyze.recording.taken_away import MATTERS
from sonde.render.text.needed import LITTLE, needed_words
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import milliseconds, percent
from sonde.views.options import ShowOptions

SMALL = 0.005  # of the whole: smaller slices are printed in one row


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line(f"No account: {data['missing']}.")
        return
    page.line(_headline(data))
    busy = data["own_ms"] < (1 - MATTERS) * data["whole_ms"]
    rows = [s for s in data["rows"] if (s["own_share"] or 1.0) >= SMALL][: options.rows()]
    rest = [s for s in data["rows"] if s not in rows]
    page.table(
        [
            Column("share", right=True),
            *([Column("of the rest", right=True)] if busy else []),
            Column(""),
            Column("wall", right=True),
            Column("floor", right=True),
            Column("CPU, all threads", right=True),
            Column("work"),
            Column("line"),
            Column("module", fold=True),
        ],
        [
            (
                percent(s["share"]),
                *([percent(s["own_share"]) if s["own_share"] is not None else ""] if busy else []),
                bar((s["own_share"] or 0.0) if busy else s["share"], 10),
                milliseconds(s["ms"]),
                "?" if s["floor_ms"] is None else milliseconds(s["floor_ms"]),
                milliseconds(s["cpu_ms"]),
                s["work"],
                s["place"] if s["kind"] not in ("taken", "unseen") else "",
                _modules(s["modules"]),
            )
            for s in rows
        ],
    )
    if rest:
        share, ms = sum(s["share"] for s in rest), sum(s["ms"] for s in rest)
        page.line(f"{percent(share)} ({milliseconds(ms)}) in {len(rest)} more slices (use --limit or --json)")
    if data["unknown_ms"] >= LITTLE * data["own_ms"] and any(
        "sonde check --roof" in s["reason"] for s in rows
    ):
        page.line("?: the floor is known once this machine's limits are: sonde check --roof (15 s, kept)")
    if data["library_lines"]:
        page.line("The program is a single call into a library; lines are the library's.")


def _headline(data: dict[str, Any]) -> str:
    own = milliseconds(data["own_ms"])
    if data["unit"] == "step":
        text = f"A steady step takes {own} ({data['units']} steps)"
    elif data["unit"] == "trace":
        text = f"The device's time from first to last event is {own}"
    else:
        text = f"No steps: the run without imports and start took {own}"
    if data["own_ms"] < 0.99 * data["whole_ms"]:
        text += f", {milliseconds(data['whole_ms'])} with what other programs took"
    words = needed_words(data["own_ms"], data["needed_ms"], data["unknown_ms"])
    return f"{text}. {words[0].upper()}{words[1:]}."


def _modules(names: str | None) -> str:
    first, _, more = (names or "").partition(", ")
    return f"{first} and {more.count(', ') + 1} more" if more else first
