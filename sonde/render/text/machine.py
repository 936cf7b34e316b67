"""`sonde show REC machine`: where the recording was made, and which kernels really ran there.

What a CPU offers, what torch says and what runs are separate facts: the table names kernels that samples
saw at work, by the instruction set in their own names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.samples.kernels_seen import kernels_seen
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, percent, size
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

_FACTS = ("host", "system", "architecture", "cpu", "cpus", "usable_cpus", "memory_bytes")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`machine` {fact: value}, `aten_capability`, `running_ms`, `elsewhere_ms`, `kernels`: rows by time."""
    seen = kernels_seen(*(recording.table(name) for name in ("frames", "stacks", "samples")))
    return {
        "machine": {name: recording.meta.machine.get(name) for name in _FACTS},
        "versions": dict(recording.meta.versions),
        "aten_capability": _capability(recording),
        "running_ms": round(seen.running_ns / 1e6, 3),
        "elsewhere_ms": round(seen.elsewhere_ns / 1e6, 3),
        "kernels": [
            {
                "library": row.library,
                "isa": row.isa,
                "cpu_ms": round(row.cpu_ns / 1e6, 3),
                "samples": row.samples,
                "heaviest": row.heaviest,
            }
            for row in seen.rows
        ],
    }


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
        page.line("No sample was inside a kernel that names its instruction set.")
        return
    page.line("Kernels that samples saw running, by the instruction set in their names:")
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
                percent(r["cpu_ms"] / running),
                count(r["samples"]),
                r["heaviest"],
                bar(r["cpu_ms"] / running),
            )
            for r in data["kernels"][: options.rows()]
        ],
    )
    page.line(f"{milliseconds(data['elsewhere_ms'])} of {milliseconds(running)} ran in none of these.")


def _capability(recording: Recording) -> str | None:
    """What torch answered when it was asked, last word first; None when it never was."""
    marks = recording.table("marks")
    rows = np.flatnonzero(marks.text("kind").equals("settings"))
    for text in reversed(marks.text("extra").take(rows).tolist()):
        said = json_text.text(json_text.object_of(text).get("cpu_capability"))
        if said is not None:
            return said
    return None
