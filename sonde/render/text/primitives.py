"""`sonde show REC primitives`: prints the answer of `sonde.views.primitives`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent
from sonde.views.options import ShowOptions
from sonde.views.primitives import GROUPINGS

_EVIDENCE_WORDS = {
    "call": "by recorded calls",
    "sample": "by a sample inside the primitive",
    "alike": "by samples inside others of its shape",
    "unknown": "not known",
}


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows, names = data["rows"], GROUPINGS[data["by"]]
    if not rows and data["asked"]:
        page.line(
            "No oneDNN or MKL call was recorded, though --primitives was given: no profiling window was recorded, "
            "or nothing in it called them. Record more of it with: sonde run --primitives --window all script.py"
        )
        return
    if not rows:
        page.line("No oneDNN or MKL call was recorded. Record them with: sonde run --primitives script.py")
        return
    columns = [Column(name.capitalize(), fold=True) for name in names]
    columns += [Column(t, right=True) for t in ("Time %", "Time", "Calls", "GFLOP/s")]
    shown = rows[: options.rows()]
    page.table(columns, [_cells(r, names, data["total_ms"]) for r in shown])
    if len(rows) > len(shown):
        page.line(f"{len(rows) - len(shown)} more rows (use --limit)")
    line = f"oneDNN and MKL time: {milliseconds(data['total_ms'])}"
    page.line(line + (f"   effective ISA: {data['isa']}" if data["isa"] else ""))
    known = {name: share for name, share in data["operator_known"].items() if share >= 0.001}
    if known and set(known) != {"call"}:
        page.line(
            f"operators: {', '.join(f'{percent(s)} {_EVIDENCE_WORDS[name]}' for name, s in known.items())}"
        )
    for key, text in (
        ("weak", "kernels that could be better"),
        ("creations", "primitives created, not cached"),
    ):
        if data[key]:
            time_ms = sum(r["total_ms"] for r in data[key])
            page.line(f"{text}: {milliseconds(time_ms)}, most: {_named(data[key][0])}")
    by_class: dict[str, float] = {}
    for row in data["reorders"]:
        by_class[row["what"]] = by_class.get(row["what"], 0.0) + row["total_ms"]
    if by_class:
        words = ", ".join(f"{name} {milliseconds(ms)}" for name, ms in by_class.items())
        page.line(f"reorders: {words}")
    page.next(f"sonde show {options.name} primitives --by {'module' if 'call' in known else 'op'}")


def _cells(row: dict[str, Any], names: tuple[str, ...], total_ms: float) -> list[str]:
    cells = [str(row[name]) if row[name] is not None else "–" for name in names]
    share = row["total_ms"] / total_ms if total_ms else 0.0
    rate = "–" if not row["flops"] or not row["total_ms"] else f"{row['flops'] / row['total_ms'] / 1e6:.1f}"
    return [*cells, percent(share), milliseconds(row["total_ms"]), count(row["calls"]), rate]


def _named(row: dict[str, Any]) -> str:
    return " ".join(str(row[k]) for k in ("issue", "kind", "implementation", "shape") if row.get(k))
