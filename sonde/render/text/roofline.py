"""`sonde show REC roofline`: prints the answer of `sonde.views.roofline`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["ops"] and not data["primitives"]:
        page.line("No work with known shapes was recorded; record some steps with: --window all")
        return
    for key, names in (("ops", ("name", "shapes")), ("primitives", ("kind", "implementation", "shape"))):
        rows = data[key]
        if not rows:
            continue
        page.heading(f"{key}: most to gain first")
        columns = [Column(name.capitalize(), fold=True) for name in names]
        titles = ("Time", "Calls", "GFLOP/s", "FLOP/B", "Bound", "At the roof", "Efficiency", "To gain")
        page.table(
            columns + [Column(t, right=True) for t in titles],
            [_cells(r, names) for r in rows[: options.rows()]],
        )
    peaks = ", ".join(f"{name} {rate / 1e9:.0f} GFLOP/s" for name, rate in data["roof"]["peak_flops"].items())
    levels = ", ".join(f"{v['name']} {v['bytes_per_s'] / 1e9:.0f} GB/s" for v in data["roof"]["levels"])
    page.line(f"roof ({data['roof']['origin']}, {data['roof']['threads']} threads): {peaks}; {levels}")


def _cells(row: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    def number(value: float | None, digits: int = 1) -> str:
        return "–" if value is None else f"{value:.{digits}f}"

    cells = [str(row[name]) if row[name] is not None else "–" for name in names]
    efficiency = "–" if row["efficiency"] is None else percent(row["efficiency"])
    return [
        *cells,
        milliseconds(row["total_ms"]),
        count(row["calls"]),
        number(row["gflops_s"]),
        number(row["intensity"], 2),
        row["bound"],
        "–" if row["roof_ms"] is None else milliseconds(row["roof_ms"]),
        efficiency,
        milliseconds(row["saving_ms"]),
    ]
