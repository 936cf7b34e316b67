"""Made-up recordings for pairs of rules: a training loop with settings, calls, counters and workers; a device's trace.

Everything is small and written out, so that a pair shows the one thing in which its two recordings differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sonde.columns import Table, Text
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.fixtures.walk import Rows
from tests.unit.insights.made_loop import FILE, MS, Spent, loop
from tests.unit.insights.planted import mark, settings

DEEP = range(40, 44)  # steps of a profiling window
START = 100_000 * MS
US = 1_000
STEP_US = 10_000


@dataclass(frozen=True)
class Call:
    """An operator call of every step in the profiling window; times from the start of the step."""

    name: str
    at_ms: float
    ms: float
    line: int = 20
    shapes: (
        Sequence[Any] | Callable[[int], Sequence[Any]]
    ) = ()  # of the number of the step, where they change
    dtypes: Sequence[str] = ()
    strides: Sequence[Any] = ()
    inputs: Sequence[Any] = ()
    flops: float = float("nan")
    bytes: float = float("nan")
    kind: str = "op"
    memory: int = 0


def made(
    *spent: Spent,
    says: dict[str, Any] | None = None,
    calls: Sequence[Call] = (),
    marks: Table | None = None,
    environment: dict[str, str] | None = None,
    machine: dict[str, Any] | None = None,
) -> Recording:
    """A loop of 60 equal steps with settings (`says`), calls of a profiling window and further marks."""
    run = loop(*spent)
    tables = {table.name: table for table in run.tables()}
    parts = [tables["marks"], *([settings(**says)] if says is not None else []), *([marks] if marks else [])]
    if calls:
        begin, length = _deep(tables["marks"])
        parts.append(mark("window", [begin[0]], int(begin[-1] + length - begin[0])))
        tables["ops"] = _ops(begin, calls)
    tables["marks"] = build.concat("marks", parts)
    meta = replace(
        run.meta,
        environment=environment or {},
        machine=machine if machine is not None else {"usable_cpus": 8, "cpus": 8},
        duration_s=10.0,
    )
    return Recording(meta, tables)


def _deep(marks: Table) -> tuple[list[int], int]:
    """Starts of the steps of the profiling window, and how long one lasts."""
    steps = marks.take(marks.text("kind").equals("step"))
    start = np.sort(steps.array("start_ns"))
    return [int(start[i]) for i in DEEP], int(start[1] - start[0])


def _ops(begin: list[int], calls: Sequence[Call]) -> Table:
    rows = Rows()
    for number, step in enumerate(begin):
        for call in calls:
            start = step + round(call.at_ms * MS)
            shapes = call.shapes(number) if callable(call.shapes) else call.shapes
            rows.add(
                op=len(rows.columns.get("op", [])), thread=0, start_ns=start, end_ns=start + round(call.ms * MS),
                parent=-1, name=call.name, kind=call.kind, shapes=json.dumps(shapes), dtypes=json.dumps(call.dtypes),
                strides=json.dumps(call.strides), inputs=json.dumps(call.inputs), file=FILE, line=call.line,
                flops=call.flops, bytes=call.bytes, cpu_mem_bytes=call.memory,
            )  # fmt: skip
    return rows.table("ops")


def with_text(recording: Recording, text: str) -> Recording:
    """The program's own file, as it was when it ran."""
    return _with(recording, sources=build.table("sources", file=[FILE], text=[text], changed=[False]))


def with_counters(recording: Recording, **values: Callable[[float], float]) -> Recording:
    """Readings every 20 ms: each counter as a function of the seconds since the start."""
    times = np.arange(0.0, 2.0, 0.02)
    rows = Rows()
    for name, value in values.items():
        for at in times.tolist():
            rows.add(time_ns=START + round(at * 1e9), process=0, name=name, value=float(value(at)))
    return _with(recording, counters=rows.table("counters"))


def with_workers(recording: Recording, state: str, stack_of_main: bool = False, count: int = 3) -> Recording:
    """Pool threads that are in one state whenever the stepping thread was sampled."""
    samples, threads = recording.table("samples"), recording.table("threads")
    more = [threads]
    parts = [samples]
    for thread in range(1, count + 1):
        more.append(build.table("threads", thread=[thread], process=[0], kind=["omp"]))
        stack = samples.array("stack") if stack_of_main else np.zeros(len(samples), np.int64)
        parts.append(
            samples.with_columns(
                thread=np.full(len(samples), thread, np.int32),
                stack=stack.astype(np.int32),
                state=Text.full(len(samples), state),
            )
        )
    return _with(recording, samples=build.concat("samples", parts), threads=build.concat("threads", more))


def with_phase_facts(recording: Recording, phase: str, **facts: Any) -> Recording:
    """Facts on every mark of a phase."""
    marks = recording.table("marks")
    mine = marks.text("name").equals(phase)
    old = marks.text("extra").tolist()
    extra = [json.dumps(facts) if m else o for m, o in zip(mine.tolist(), old, strict=True)]
    return _with(recording, marks=marks.with_columns(extra=Text.of(extra)))


def _with(recording: Recording, **tables: Table) -> Recording:
    return Recording(recording.meta, {**{t.name: t for t in recording.tables()}, **tables})


@dataclass(frozen=True)
class Event:
    """What happens in every step of a device's trace, in µs from its start. Without a kernel: on the host alone."""

    op: str
    at: int
    lasts: int
    kernel: str = ""
    device_at: int = 0
    device_us: int = 0
    kind: str = "kernel"
    work: str = "compute"
    call: str = "cudaLaunchKernel"
    call_kind: str = "launch"
    stream: int = 7
    shapes: Sequence[Any] = ()
    dtypes: Sequence[str] = ()
    inputs: Sequence[Any] = field(default_factory=tuple)


def trace(
    *events: Event,
    ranks: Sequence[Sequence[Event]] = (),
    reserved: int = 0,
    allocated: int = 0,
    steps: int = 8,
) -> Recording:
    """A trace of one device, or of one per rank, with equal steps of 10 ms."""
    kernels, launches, ops, marks, memory = Rows(), Rows(), Rows(), Rows(), Rows()
    for rank, mine in enumerate(ranks or [events]):
        for step in range(steps):
            start = (step + 1) * STEP_US * US
            marks.add(mark=len(marks.columns.get("mark", [])), process=rank, thread=rank, kind="step", name="train",
                      number=step, start_ns=start, end_ns=start + STEP_US * US)  # fmt: skip
            for event in mine:
                _event(rank, start, event, kernels, launches, ops)
            if reserved:
                memory.add(time_ns=start, thread=rank, device="cuda:0", address=step + 1, bytes=1 << 20,
                           allocated_bytes=allocated, reserved_bytes=reserved, op=-1)  # fmt: skip
    count = len(ranks) or 1
    end = (steps + 2) * STEP_US * US
    tables = {
        "kernels": kernels.table("kernels"),
        "launches": launches.table("launches"),
        "ops": ops.table("ops"),
        "marks": marks.table("marks"),
        "processes": build.table("processes", process=range(count), pid=range(count), rank=range(count),
                                 world_size=[count] * count, start_ns=[0] * count, end_ns=[end] * count),
        "threads": build.table("threads", thread=range(count), process=range(count), tid=range(count),
                               kind=["main"] * count),
    }  # fmt: skip
    if reserved:
        tables["memory"] = memory.table("memory")
    return Recording(
        Meta(
            source="trace", program="t", duration_s=end / 1e9, details={"devices": [{"name": "NVIDIA A100"}]}
        ),
        tables,
    )


def _event(rank: int, start: int, event: Event, kernels: Rows, launches: Rows, ops: Rows) -> None:
    op, launch = len(ops.columns.get("op", [])), len(launches.columns.get("launch", []))
    begin, end = start + event.at * US, start + (event.at + event.lasts) * US
    ops.add(
        op=op, thread=rank, start_ns=begin, end_ns=end, parent=-1, name=event.op, kind="op",
        shapes=json.dumps(event.shapes), dtypes=json.dumps(event.dtypes), inputs=json.dumps(event.inputs),
        file=FILE, line=20,
    )  # fmt: skip
    if event.call:
        launches.add(
            launch=launch, thread=rank, start_ns=begin + 1, end_ns=end - 1, name=event.call,
            kind=event.call_kind, api="runtime", op=op,
        )  # fmt: skip
    if event.kernel:
        kernels.add(
            kernel=len(kernels.columns.get("kernel", [])), process=rank, device=rank, stream=event.stream,
            start_ns=start + event.device_at * US, end_ns=start + (event.device_at + event.device_us) * US,
            name=event.kernel, kind=event.kind, launch=launch, op=op, bytes=4_000_000 if event.kind == "memcpy" else -1,
            collective='{"Collective name": "allreduce"}' if event.work == "communication" else None,
            **{"class": event.work},
        )  # fmt: skip
