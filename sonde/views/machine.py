"""`machine`: where the recording was made, and which kernels actually ran there.

What a CPU offers, what torch says and what runs are separate facts: the table names kernels that samples
saw at work, by the instruction set in their own names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sonde import json_text
from sonde.analyze.samples.kernels_seen import kernels_seen
from sonde.store.recording import Recording
from sonde.views.columns import Column
from sonde.views.options import ShowOptions

_FACTS = ("host", "system", "architecture", "cpu", "cpus", "usable_cpus", "memory_bytes")


@dataclass(frozen=True)
class SeenKernels:
    """Kernels of one library that name one instruction set."""

    library: Annotated[str, Column("library", meaning="library of the kernels")]
    isa: Annotated[str | None, Column("names say", meaning="instruction set, as the kernels' names spell it")]
    cpu_ms: Annotated[float, Column("CPU time", "ms", "sampled in them")]
    share: Annotated[float, Column("of running", "share", "of all running CPU time")]
    samples: Annotated[int, Column("samples", "count", "samples in them")]
    heaviest: Annotated[str, Column("heaviest", meaning="the kernel with most time")]


@dataclass(frozen=True)
class MachineAnswer:
    """`elsewhere_ms`: running CPU time in none of the kernels."""

    machine: dict[str, Any]
    versions: dict[str, str]
    aten_capability: str | None  # what torch answered when it was asked
    running_ms: float
    elsewhere_ms: float
    kernels: list[SeenKernels]


def data(recording: Recording, options: ShowOptions) -> MachineAnswer:
    seen = kernels_seen(*(recording.table(name) for name in ("frames", "stacks", "samples")))
    whole = max(seen.running_ns, 1)
    return MachineAnswer(
        machine={name: recording.meta.machine.get(name) for name in _FACTS},
        versions=dict(recording.meta.versions),
        aten_capability=_capability(recording),
        running_ms=seen.running_ns / 1e6,
        elsewhere_ms=seen.elsewhere_ns / 1e6,
        kernels=[
            SeenKernels(r.library, r.isa, r.cpu_ns / 1e6, r.cpu_ns / whole, r.samples, r.heaviest)
            for r in seen.rows
        ],
    )


def _capability(recording: Recording) -> str | None:
    """What torch answered when it was asked, last word first; None when it never was."""
    marks = recording.table("marks")
    rows = np.flatnonzero(marks.text("kind").equals("settings"))
    for text in reversed(marks.text("extra").take(rows).tolist()):
        said = json_text.text(json_text.object_of(text).get("cpu_capability"))
        if said is not None:
            return said
    return None
