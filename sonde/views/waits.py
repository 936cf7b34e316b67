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
from sonde.views.set_apart import Apart, extent_of
from sonde.views.thread_choice import of_thread

# Functions of profilers: a wait in one of them is none of the program's. (GOMP_parallel of ours calls the real one.)
PROFILERS = ("sonde::", "libkineto::")
OBSERVERS = "/sonde/record/"  # files of Sonde's own code inside the program
SYSTEM_LIBRARIES = ("libc.so", "ld-linux", "libpthread", "libgomp", "libpython", "python")


@dataclass(frozen=True)
class WaitRow:
    """Waits of one kind of thread for one reason at one place."""

    kind: Annotated[str | None, Column("thread", meaning="kind of the threads that waited")]
    reason: Annotated[str, Column("reason", meaning="lock, input, idle, preempted, …")]
    waiting_ms: Annotated[float, Column("waiting", "ms", "time off the CPU, all threads of the kind")]
    waits: Annotated[int, Column("waits", "count", "waits that were seen")]
    python: Annotated[str | None, Column("Python", meaning="innermost Python frame")]
    place: Annotated[str | None, Column("native", meaning="innermost native frame outside system libraries")]


@dataclass(frozen=True)
class Waits:
    """Rows, longest first, and the sum of each reason."""

    reasons: dict[str, float]
    rows: list[WaitRow]
    profilers_ms: float
    apart: Apart


def data(recording: Recording, options: ShowOptions) -> Waits:
    """Waits without those of start, imports and shutdown (`--whole`: with them), of all threads or of `--thread`."""
    samples = recording.table("samples")
    waits = samples.take(samples.text("state").equals("waiting") & of_thread(recording, options.thread))
    early, inside, late = extent_of(recording, options).split(waits)
    threads = recording.table("threads")
    kind_of = dict(zip(threads.array("thread").tolist(), threads.text("kind").tolist(), strict=True))
    places = _places(recording, np.unique(waits.array("stack")))
    profilers_ns = early_ns = late_ns = 0
    groups: dict[tuple[Any, ...], list[int]] = {}
    for thread, stack, reason, ns, before, after in zip(
        waits.array("thread").tolist(),
        waits.array("stack").tolist(),
        waits.text("reason").objects(),
        inside.tolist(),
        early.tolist(),
        late.tolist(),
        strict=True,
    ):
        python, place, observer = places.get(stack, (None, None, False))
        if kind_of.get(thread) == "sonde" or observer or (place or "").startswith(PROFILERS):
            profilers_ns += ns
            continue
        early_ns += before
        late_ns += after
        if not ns and (before or after):
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
        apart=Apart(early_ns / 1e6, late_ns / 1e6),
    )


def _places(recording: Recording, wanted: Any) -> dict[int, tuple[str | None, str | None, bool]]:
    """Stack → (innermost Python frame, innermost native frame that is not plumbing, whether Sonde's own code waits)."""
    stacks, frames = recording.table("stacks"), recording.table("frames")
    labels = frame_labels(frames)
    layers, libraries = frames.text("layer").tolist(), frames.text("library").tolist()
    row_of = {frame: row for row, frame in enumerate(frames.array("frame").tolist())}
    parent = dict(zip(stacks.array("stack").tolist(), stacks.array("parent").tolist(), strict=True))
    frame_of = dict(zip(stacks.array("stack").tolist(), stacks.array("frame").tolist(), strict=True))
    files = frames.text("file").tolist()
    found: dict[int, tuple[str | None, str | None, bool]] = {}
    for stack in wanted.tolist():
        python = place = None
        observer = False
        node = stack
        while node >= 0 and (python is None or place is None):
            row = row_of[frame_of[node]]
            if layers[row] == "python" and python is None:
                python = labels[row]
                observer = OBSERVERS in (files[row] or "")
            plumbing = (libraries[row] or "").startswith(SYSTEM_LIBRARIES)
            if layers[row] == "native" and place is None and not plumbing:
                place = labels[row]
            node = parent[node]
        found[stack] = (python, place, observer)
    return found
