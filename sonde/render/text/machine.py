"""`sonde show REC machine`: prints the answer of `sonde.views.machine`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, percent, size
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    for name, value in data["machine"].items():
        if value is not None:
            shown = size(value) if name == "memory_bytes" else str(value)
            page.line(f"{name.removesuffix('_bytes').replace('_', ' '):16}{shown}")
    for name, version in data["versions"].items():
        page.line(f"{name:16}{version}")
    page.line(f"{'ATen says':16}{data['aten_capability'] or 'not recorded'}")
    page.line("")
    if not data["kernels"]:
        page.line("No sampled kernel names its instruction set.")
        return
    page.line("Kernels seen in samples, by the instruction set in their names:")
    running = data["running_ms"]
    page.table(
        [
            Column("library"),
            Column("names say"),
            Column("CPU time", right=True),
            Column("of running", right=True),
            Column("samples", right=True),
            Column("heaviest", fold=True),
            Column(""),
        ],
        [
            (
                r["library"],
                r["isa"] or "nothing",
                milliseconds(r["cpu_ms"]),
                percent(r["share"]),
                count(r["samples"]),
                r["heaviest"],
                bar(r["share"]),
            )
            for r in data["kernels"][: options.rows()]
        ],
    )
    page.line(f"{milliseconds(data['elsewhere_ms'])} of {milliseconds(running)} ran in no such kernel.")
