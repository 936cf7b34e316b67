"""`threads`: what each thread did, and what its pool workers waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sonde.store.recording import Recording
from sonde.views.columns import Column, ordered
from sonde.views.options import ShowOptions
from sonde.views.set_apart import Apart, extent_of

STATES = ("running", "spinning", "imbalance", "waiting")


@dataclass(frozen=True)
class ThreadRow:
    """One thread."""

    thread: Annotated[int, Column("thread", meaning="its number in the recording")]
    tid: Annotated[int, Column("tid", meaning="the system's number of it")]
    process: Annotated[int, Column("process", meaning="the number of its process in the recording")]
    kind: Annotated[str | None, Column("kind", meaning="main, python, omp, sonde, …")]
    name: Annotated[str | None, Column("name", meaning="as the program named it")]
    samples: Annotated[int, Column("samples", "count", "samples and waits that were recorded")]
    on_cpu_ms: Annotated[float, Column("on CPU", "ms", "running, busy-waiting or waiting for slower threads")]
    running_ms: Annotated[float, Column("running", "ms", "on a CPU, at work")]
    spinning_ms: Annotated[
        float, Column("busy-waiting", "ms", "on a CPU, an idle pool thread that waits in a loop")
    ]
    imbalance_ms: Annotated[
        float, Column("imbalance", "ms", "on a CPU, waiting for slower threads of its pool")
    ]
    waiting_ms: Annotated[float, Column("waiting", "ms", "off the CPU, for whatever reason")]


@dataclass(frozen=True)
class Threads:
    """Without start, imports and shutdown (`--whole`: with them)."""

    rows: list[ThreadRow]
    apart: Apart  # on the CPU


def data(recording: Recording, options: ShowOptions) -> Threads:
    """Busiest first."""
    threads, samples = recording.table("threads"), recording.table("samples")
    numbers = threads.array("thread")
    size = int(numbers.max()) + 1 if len(numbers) else 0
    valid = (samples.array("thread") >= 0) & (samples.array("thread") < size)
    extent = extent_of(recording, options)
    time = extent.split(samples)[1]
    weight = time.astype(np.float64) / 1e6
    on_cpu = samples.take(~samples.text("state").equals("waiting"))
    by_state = {
        state: np.bincount(samples.array("thread")[mask], weights=weight[mask], minlength=size)
        for state in STATES
        for mask in (valid & samples.text("state").equals(state),)
    }
    if extent.span is not None:
        valid &= time > 0
    seen = np.bincount(samples.array("thread")[valid], minlength=size)
    rows = []
    for i, number in enumerate(numbers.tolist()):
        running, spinning, imbalance, waiting = (float(by_state[state][number]) for state in STATES)
        rows.append(
            ThreadRow(
                thread=number,
                tid=int(threads.array("tid")[i]),
                process=int(threads.array("process")[i]),
                kind=threads.text("kind")[i],
                name=threads.text("name")[i],
                samples=int(seen[number]),
                on_cpu_ms=running + spinning + imbalance,
                running_ms=running,
                spinning_ms=spinning,
                imbalance_ms=imbalance,
                waiting_ms=waiting,
            )
        )
    return Threads(ordered(rows, ThreadRow, options.sort, "on_cpu_ms"), extent.apart(on_cpu))
