"""`waits`: time off the CPU, by reason and by the place that waited.

Waits of Sonde's own threads and calls and of Kineto's idle thread are none of the program's: they are in `profilers_ms`
and in no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sonde.analyze.samples.labels import frame_labels
from sonde.store.recording import Recording
from sonde.views.columns import Column, ordered
from sonde.views.options import ShowOptions
from sonde.views.thread_choice import of_thread

# Functions of profilers: a wait in one of them is none of the program's. (GOMP_parallel of ours calls the real one.)
PROFILERS = ("sonde::", "libkineto::")
SYSTEM_LIBRARIES = ("libc.so", "ld-linux", "libpthread", "libgomp", "libpython", "python")


@dataclass(frozen=True)
class WaitRow:
    """Waits of one kind of thread for one reason at one place."""

    kind: Annotated[str | None, Column("thread", meaning="kind of the threads that waited")]
    reason: Annotated[str, Column("reason", meaning="lock, input, idle, preempted, …")]
    waiting_ms: Annotated[float, Column("waiting", "ms", "time off the CPU, all threads of the kind")]
    waits: Annotated[int, Column("waits", "count", "waits that were seen")]
    python: Annotated[str | None, Column("Python", meaning="innermost Python frame")]
    place: Annotated[str | None, Column("native", meaning="innermost native frame that is not plumbing")]


@dataclass(frozen=True)
class Waits:
    """Rows, longest first, and the sum of each reason."""

    reasons: dict[str, float]
    rows: list[WaitRow]
    profilers_ms: float


def data(recording: Recording, options: ShowOptions) -> Waits:
    """All waits that were recorded, or those of `--thread`."""
    samples = recording.table("samples")
    waits = samples.take(samples.text("state").equals("waiting") & of_thread(recording, options.thread))
    threads = recording.table("threads")
    kind_of = dict(zip(threads.array("thread").tolist(), threads.text("kind").tolist(), strict=True))
    places = _places(recording, np.unique(waits.array("stack")))
    profilers_ns = 0
    groups: dict[tuple[Any, ...], list[int]] = {}
    for thread, stack, reason, ns in zip(
        waits.array("thread").tolist(),
        waits.array("stack").tolist(),
        waits.text("reason").objects(),
        waits.array("weight_ns").tolist(),
        strict=True,
    ):
        python, place = places.get(stack, (None, None))
        if kind_of.get(thread) == "sonde" or (place or "").startswith(PROFILERS):
            profilers_ns += ns
            continue
        entry = groups.setdefault((kind_of.get(thread), reason or "other", python, place), [0, 0])
        entry[0] += 1
        entry[1] += ns
    total: dict[str, int] = {}
    for (_, reason, _, _), (_, ns) in groups.items():
        total[reason] = total.get(reason, 0) + ns
    rows = [
        WaitRow(kind, reason, ns / 1e6, count, python, place)
        for (kind, reason, python, place), (count, ns) in groups.items()
    ]
    return Waits(
        reasons={reason: ns / 1e6 for reason, ns in sorted(total.items(), key=lambda item: -item[1])},
        rows=ordered(rows, WaitRow, options.sort, "waiting_ms"),
        profilers_ms=profilers_ns / 1e6,
    )


def _places(recording: Recording, wanted: Any) -> dict[int, tuple[str | None, str | None]]:
    """Stack → (innermost Python frame, innermost native frame that is not plumbing)."""
    stacks, frames = recording.table("stacks"), recording.table("frames")
    labels = frame_labels(frames)
    layers, libraries = frames.text("layer").tolist(), frames.text("library").tolist()
    row_of = {frame: row for row, frame in enumerate(frames.array("frame").tolist())}
    parent = dict(zip(stacks.array("stack").tolist(), stacks.array("parent").tolist(), strict=True))
    frame_of = dict(zip(stacks.array("stack").tolist(), stacks.array("frame").tolist(), strict=True))
    found: dict[int, tuple[str | None, str | None]] = {}
    for stack in wanted.tolist():
        python = place = None
        node = stack
        while node >= 0 and (python is None or place is None):
            row = row_of[frame_of[node]]
            if layers[row] == "python" and python is None:
                python = labels[row]
            plumbing = (libraries[row] or "").startswith(SYSTEM_LIBRARIES)
            if layers[row] == "native" and place is None and not plumbing:
                place = labels[row]
            node = parent[node]
        found[stack] = (python, place)
    return found
