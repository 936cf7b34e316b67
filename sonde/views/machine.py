"""`sonde show REC machine`: where the recording was made, and which kernels really ran there.

What a CPU offers, what torch says and what runs are separate facts: the table names kernels that samples
saw at work, by the instruction set in their own names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.samples.kernels_seen import kernels_seen
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

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


def _capability(recording: Recording) -> str | None:
    """What torch answered when it was asked, last word first; None when it never was."""
    marks = recording.table("marks")
    rows = np.flatnonzero(marks.text("kind").equals("settings"))
    for text in reversed(marks.text("extra").take(rows).tolist()):
        said = json_text.text(json_text.object_of(text).get("cpu_capability"))
        if said is not None:
            return said
    return None
