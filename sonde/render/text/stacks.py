"""`sonde show REC stacks`: prints the answer of `sonde.views.stacks`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.apart import say_apart
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, percent
from sonde.views.options import ShowOptions
from sonde.views.stacks import TREE_SHARE

HOT_ROWS = 15

TREE_LINES = 40


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    whole = data["on_cpu_ms"]
    if not whole:
        page.line("No on-CPU samples were recorded.")
        say_apart(data["apart"], "on the CPU", page)
        return
    page.heading(
        f"Hottest functions, of {milliseconds(whole)} on-CPU time in {count(data['samples'])} samples"
    )
    page.table(
        [
            Column("self", right=True),
            Column("", right=True),
            Column("total", right=True),
            Column("function", fold=True),
        ],
        [
            (
                milliseconds(r["self_ms"]),
                percent(r["self_ms"] / whole),
                milliseconds(r["total_ms"]),
                r["name"],
            )
            for r in data["hot"][: options.rows(HOT_ROWS)]
        ],
    )
    say_apart(data["apart"], "on the CPU", page)
    page.line()
    page.heading(f"Call tree (paths above {percent(TREE_SHARE)} of on-CPU time)")
    lines = _lines(data["tree"], whole, 0)
    limit = options.rows(TREE_LINES)
    for line in lines[:limit]:
        page.line(line[: page.width])
    if len(lines) > limit:
        page.line(f"{len(lines) - limit} more lines (use --limit)")
    page.next(f"sonde report {options.name} --open", f"sonde show {options.name} ops")


def _lines(node: dict[str, Any], whole: float, depth: int) -> list[str]:
    """One line per path; chains of single calls with no time of their own stay on one indentation."""
    lines = []
    for child in node["children"]:
        share = child["total_ms"] / whole
        lines.append(f"{percent(share):>7}  {bar(share, 8)}  {'  ' * min(depth, 24)}{child['name']}")
        branches = len(child["children"]) > 1 or child["self_ms"] > TREE_SHARE * whole
        lines += _lines(child, whole, depth + 1 if branches else depth)
    return lines
