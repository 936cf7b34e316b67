"""Processes, threads and marks → the page: who ran, and the named stretches of time."""

from __future__ import annotations

import numpy as np

from sonde.render.html.limits import Limits
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

_TIMES = {
    "samples": ("time_ns", "time_ns"),
    "ops": ("start_ns", "end_ns"),
    "kernels": ("start_ns", "end_ns"),
    "launches": ("start_ns", "end_ns"),
    "marks": ("start_ns", "end_ns"),
    "memory": ("time_ns", "time_ns"),
    "counters": ("time_ns", "time_ns"),
    "processes": ("start_ns", "end_ns"),
}


def span_ns(recording: Recording) -> tuple[int, int]:
    """First and last moment of anything in the recording."""
    low: list[int] = []
    high: list[int] = []
    for name, (start, end) in _TIMES.items():
        table = recording.table(name)
        starts, ends = table.array(start), table.array(end)
        starts, ends = starts[starts > 0], ends[ends > 0]
        if len(starts) and len(ends):
            low.append(int(starts.min()))
            high.append(int(ends.max()))
    if not low:
        return 0, 1
    return min(low), max(*high, min(low) + 1)


def add_actors(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> None:
    """Put processes, threads and marks into the payload."""
    strings = payload.strings
    processes = recording.table("processes")
    payload.add(
        "processes",
        process=processes.array("process").astype(np.int64),
        pid=processes.array("pid").astype(np.int64),
        parent=processes.array("parent").astype(np.int64),
        rank=processes.array("rank").astype(np.int64),
        role=strings.column(processes.text("role")),
        command=strings.column(processes.text("command")),
        runtime=strings.column(processes.text("runtime")),
        engine=strings.column(processes.text("engine")),
        cpu_user=processes.array("cpu_user_ns"),
        cpu_system=processes.array("cpu_system_ns"),
        max_rss=processes.array("max_rss_bytes"),
        exit_code=processes.array("exit_code").astype(np.int64),
    )
    threads = recording.table("threads")
    payload.add(
        "threads",
        thread=threads.array("thread").astype(np.int64),
        process=threads.array("process").astype(np.int64),
        tid=threads.array("tid"),
        kind=strings.column(threads.text("kind")),
        name=strings.column(threads.text("name")),
        cpu=threads.array("cpu_ns"),
    )
    marks = recording.table("marks")
    chosen = np.arange(len(marks))
    if len(marks) > limits.op_rows:
        steps = marks.text("kind").matches(("step", "epoch", "window"))
        lasted = marks.array("end_ns") - marks.array("start_ns")
        chosen = np.sort(np.lexsort((-lasted, ~steps))[: limits.op_rows])
    marks = marks.take(chosen)
    payload.add(
        "marks",
        process=marks.array("process").astype(np.int64),
        thread=marks.array("thread").astype(np.int64),
        kind=strings.column(marks.text("kind")),
        name=strings.column(marks.text("name")),
        number=marks.array("number").astype(np.int64),
        start=marks.array("start_ns") - origin_ns,
        end=marks.array("end_ns") - origin_ns,
    )
