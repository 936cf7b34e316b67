"""A trace, split for a comparison: every step of every rank is a block; operators by device time if there is one.

In: the tables of an imported trace. Out: `Unit`s, one per rank, and the sheets of all ranks side by side. Steps are
ProfilerStep#N or what a serving engine marks. A step's time reaches to the end of the device work that it launched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.device.events import device_work
from sonde.analyze.steps.serving import serving_steps
from sonde.analyze.steps.trace import trace_steps
from sonde.columns import Array, Table, Text
from sonde.compare.blocks import Blocks, whole_run
from sonde.compare.calls import kernel_sheet, launch_starts, memory_sheets, op_sheets
from sonde.compare.sheet import Sheet, side_by_side

Load = Callable[[str], Table]


@dataclass(frozen=True)
class Unit:
    """The steps of one rank after warm-up."""

    process: int
    blocks: Blocks  # a block per step
    step_ms: Array
    numbers: tuple[int, ...] = ()


def is_trace(table: Load) -> bool:
    """Calls or device events, and no samples."""
    return not len(table("samples")) and bool(len(table("ops")) or len(table("kernels")))


def units(table: Load) -> list[Unit]:
    """One per process that has steps, in the order of process numbers."""
    marks, ops = _marks_with_steps(table("marks")), table("ops")
    work = device_work(table("kernels"), table("launches"))
    of_op = _process_of(ops, table("threads"))
    found = []
    for process in _processes(table):
        steps = trace_steps(
            marks.take(marks.array("process") == process),
            ops.take(of_op == process),
            work.take(work.process == process),
        )
        first = steps.warmup
        if len(steps):
            number = np.arange(len(steps) - first)
            blocks = Blocks(steps.start[first:], steps.end[first:], number, "step")
            numbers = tuple(steps.number[first:].tolist())
            found.append(Unit(process, blocks, steps.times_ns[first:] / 1e6, numbers))
    return found


def trace_sheets(
    table: Load, by_step: bool, wanted_ops: frozenset[str], root: str, span: tuple[int, int]
) -> list[Sheet]:
    """Sheets of all ranks, their blocks one after the other."""
    kernels, launches = table("kernels"), table("launches")
    threads, ops, memory = table("threads"), table("ops"), table("memory")
    chosen = units(table) if by_step else [Unit(p, whole_run(*span), np.empty(0)) for p in _processes(table)]
    of_memory = _process_of(memory, threads)
    found: list[list[Sheet]] = []
    for unit in chosen:
        mine = kernels.take(kernels.array("process") == unit.process)
        sheets: list[Sheet | None] = []
        if len(ops):
            sheets += op_sheets(ops, threads, unit.blocks, unit.process, wanted_ops, root, mine)
        sheets.append(kernel_sheet(mine, unit.blocks, launch_starts(mine, launches)))
        own_memory = memory.take(of_memory == unit.process)
        sheets += memory_sheets(own_memory, ops, table("marks"), table("processes"), unit.blocks)
        found.append([s for s in sheets if s is not None and s.names])
    return side_by_side(found)


def _marks_with_steps(marks: Table) -> Table:
    """Marks of kind step; where there are none, those of serving engines stand for them."""
    steps = np.flatnonzero(marks.text("kind").equals("step"))
    if len(steps):
        return marks.take(steps)
    rows = serving_steps(marks)
    return marks.take(rows).with_columns(
        kind=Text.full(len(rows), "step"), number=np.arange(len(rows), dtype=np.int32)
    )


def _processes(table: Load) -> list[int]:
    present = {int(p) for name in ("marks", "kernels") for p in np.unique(table(name).array("process"))}
    return sorted(present | {int(p) for p in np.unique(_process_of(table("ops"), table("threads")))} - {-1})


def _process_of(rows: Table, threads: Table) -> Array:
    at = rows_of(threads.array("thread"), rows.array("thread").astype(np.int64))
    return (
        np.where(at >= 0, threads.array("process")[np.maximum(at, 0)], 0)
        if len(threads)
        else np.zeros(len(rows), np.int64)
    )
