"""`sonde show REC threads`: what each thread did, and what its pool workers waited for."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

STATES = ("running", "spinning", "imbalance", "waiting")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`rows`, busiest first: thread, tid, process, kind, name, samples, running_ms, …, waiting_ms."""
    threads, samples = recording.table("threads"), recording.table("samples")
    numbers = threads.array("thread")
    size = int(numbers.max()) + 1 if len(numbers) else 0
    valid = samples.array("thread") >= 0
    weight = samples.array("weight_ns").astype(np.float64) / 1e6
    by_state = {
        state: np.bincount(samples.array("thread")[mask], weights=weight[mask], minlength=size)
        for state in STATES
        for mask in (valid & samples.text("state").equals(state),)
    }
    seen = np.bincount(samples.array("thread")[valid], minlength=size)
    rows = [
        {
            "thread": int(number),
            "tid": int(threads.array("tid")[i]),
            "process": int(threads.array("process")[i]),
            "kind": threads.text("kind")[i],
            "name": threads.text("name")[i],
            "samples": int(seen[number]),
            **{f"{state}_ms": round(float(by_state[state][number]), 3) for state in STATES},
        }
        for i, number in enumerate(numbers)
    ]
    rows.sort(key=lambda r: -sum(float(r[f"{s}_ms"] or 0) for s in STATES[:3]))
    return {"rows": rows}


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows = data["rows"][: options.rows()]
    most = max((r["running_ms"] + r["spinning_ms"] + r["imbalance_ms"] for r in rows), default=0) or 1
    page.table(
        [Column("tid", right=True), Column("kind"), Column("name", fold=True)]
        + [Column(state, right=True) for state in STATES]
        + [Column("samples", right=True), Column("on-CPU time")],
        [
            (
                r["tid"], r["kind"], r["name"],
                *(milliseconds(r[f"{s}_ms"]) for s in STATES),
                count(r["samples"]),
                bar((r["running_ms"] + r["spinning_ms"] + r["imbalance_ms"]) / most),
            )
            for r in rows
        ],
    )  # fmt: skip
    hidden = len(data["rows"]) - len(rows)
    if hidden > 0:
        page.line(f"… and {hidden} threads more (--limit)")
