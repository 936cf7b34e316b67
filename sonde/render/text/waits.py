"""`sonde show REC waits`: time off the CPU, by reason and by the place that waited."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.analyze.samples.labels import frame_labels
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

# Functions of profilers: a wait in one of them is none of the program's. (GOMP_parallel of ours calls the real one.)
PROFILERS = ("sonde::", "libkineto::")
SYSTEM_LIBRARIES = ("libc.so", "ld-linux", "libpthread", "libgomp", "libpython", "python")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`reasons` {reason: ms}; `rows`, longest first: thread kind, reason, place, python, waits, ms.

    `profilers_ms`: waits of Sonde's own threads and calls and of Kineto's idle thread, which are in neither.
    """
    samples = recording.table("samples")
    waits = samples.take(samples.text("state").equals("waiting"))
    threads = recording.table("threads")
    kind_of = dict(zip(threads.array("thread").tolist(), threads.text("kind").tolist(), strict=True))
    weight = waits.array("weight_ns") / 1e6
    reasons = waits.text("reason").objects()
    places = _places(recording, np.unique(waits.array("stack")))
    profilers_ms = 0.0
    total: dict[str, float] = {}
    groups: dict[tuple[Any, ...], list[float]] = {}
    for thread, stack, reason, ms in zip(
        waits.array("thread").tolist(), waits.array("stack").tolist(), reasons, weight.tolist(), strict=True
    ):
        python, place = places.get(stack, (None, None))
        if kind_of.get(thread) == "sonde" or (place or "").startswith(PROFILERS):
            profilers_ms += ms
            continue
        total[reason or "other"] = total.get(reason or "other", 0.0) + ms
        key = (kind_of.get(thread), reason or "other", python, place)
        entry = groups.setdefault(key, [0, 0.0])
        entry[0] += 1
        entry[1] += ms
    rows = [
        {"kind": k, "reason": reason, "python": python, "place": place, "waits": int(n), "waiting_ms": ms}
        for (k, reason, python, place), (n, ms) in groups.items()
    ]
    rows.sort(key=lambda row: -float(row["waiting_ms"] or 0))
    by_time = dict(sorted(total.items(), key=lambda item: -item[1]))
    return {"reasons": by_time, "rows": rows, "profilers_ms": profilers_ms}


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


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["rows"]:
        page.line("No waiting was recorded.")
        _left_out(data, page)
        return
    most = max(data["reasons"].values())
    page.table(
        [Column("reason"), Column("time off the CPU, all threads", right=True), Column("")],
        [(r, milliseconds(ms), bar(ms / most if most else 0.0)) for r, ms in data["reasons"].items()],
    )
    page.line()
    columns = [Column("thread"), Column("reason"), Column("waiting", right=True), Column("waits", right=True)]
    page.table(
        [*columns, Column("Python", fold=True), Column("native", fold=True)],
        [
            (
                r["kind"],
                r["reason"],
                milliseconds(r["waiting_ms"]),
                count(r["waits"]),
                r["python"],
                r["place"],
            )
            for r in data["rows"][: options.rows()]
        ],
    )
    _left_out(data, page)


def _left_out(data: dict[str, Any], page: Page) -> None:
    if data["profilers_ms"] >= 1:
        page.line(
            f"Not listed: {milliseconds(data['profilers_ms'])} of waits of Sonde and of torch's profiler."
        )
