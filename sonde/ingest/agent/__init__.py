"""Raw logs of one or many processes → the tables of a recording.

In: decoded logs, a resolver of addresses, and the module names that the Python side wrote.
Out: processes, threads, frames, stacks, samples, counters, marks (overhead blocks), losses.
Every sample and wait of a log is one row of `samples`; what could not be merged or named is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sonde.columns import Array, Table
from sonde.ingest.agent.frame_table import FrameTable
from sonde.ingest.agent.log import RawLog, RawModules
from sonde.ingest.agent.modules import with_modules
from sonde.ingest.agent.native_frames import AddressNames
from sonde.ingest.agent.process import ProcessTables, assemble_process
from sonde.ingest.agent.process_table import ProcessFacts, order, process_rows
from sonde.ingest.agent.stack_table import StackTable
from sonde.store import build
from sonde.store.losses import Loss, loss_table

__all__ = ["ProcessFacts", "assemble"]


def assemble(
    logs: Sequence[RawLog],
    names: AddressNames,
    modules: Mapping[int, RawModules] | None = None,
    facts: Mapping[int, ProcessFacts] | None = None,
) -> dict[str, Table]:
    """The tables by name. `modules` and `facts` are by pid; what they do not know is read from the logs."""
    frames = FrameTable()
    stacks = StackTable(frames)
    parts: list[ProcessTables] = []
    ordered = order(logs)
    thread_count = 0
    for process, log in enumerate(ordered):
        named = with_modules(log, (modules or {}).get(log.header.pid))
        part = assemble_process(process, thread_count, named, names, frames, stacks)
        thread_count += len(part.threads)
        parts.append(part)
    samples = build.concat("samples", [p.samples for p in parts])
    marks = build.concat("marks", [p.marks for p in parts])
    losses = [p.losses for p in parts]
    missing = getattr(names, "missing", {})
    if missing:
        losses.append(_unnamed_libraries(missing))
    return {
        "processes": process_rows(ordered, parts, facts or {}),
        "threads": build.concat("threads", [p.threads for p in parts]),
        "frames": frames.table(),
        "stacks": stacks.table(),
        "samples": samples.take(samples.array("time_ns").argsort(kind="stable")),
        "counters": build.concat("counters", [p.counters for p in parts]),
        "marks": replace(marks, columns={**marks.columns, "mark": _numbered(len(marks))}),
        "losses": build.concat("losses", losses),
    }


def _numbered(count: int) -> Array:
    return build.table("marks", count, mark=range(count)).array("mark")


def _unnamed_libraries(missing: Mapping[str, str]) -> Table:
    path, why = next(iter(missing.items()))
    why = f"functions of these libraries have no names; the first is {path}: {why}"
    return loss_table([Loss(-1, "symbols_missing", len(missing), "files", why)])
