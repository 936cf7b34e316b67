"""Everything about one recording that a difference is made of: step times, and sheets by dimension.

In: the tables of a recording. Out: `Profile`. `wanted_ops` are the operators that compiled kernels of
either side contain (see `compare_fusion`): both sides must be split by the same names. They must also
be split by the same unit: `by_step` is false as soon as one recording has no steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.compare_fusion import Fused, fused_kernels
from sonde.analyze.compare_ops import kernel_sheet, memory_sheets, op_sheets, primitive_sheet
from sonde.analyze.compare_renames import Function, Seen
from sonde.analyze.compare_samples import functions_seen, sample_sheets, stack_keys
from sonde.analyze.compare_sheet import Sheet
from sonde.analyze.compare_units import (
    FEWEST_STEPS,
    Blocks,
    Steady,
    blocks_of,
    steady_steps,
    whole_run,
    windowed,
)
from sonde.analyze.join import rows_of
from sonde.columns import Array, Table

Load = Callable[[str], Table]


@dataclass(frozen=True)
class Profile:
    """One recording, ready to be compared."""

    step_ms: Array  # steady steps outside deep windows, in order; empty when there are no steps
    run_ms: float  # first to last moment of the program
    sheets: dict[tuple[str, str], Sheet]  # (dimension, source)
    functions: dict[Function, Seen]
    fused: Fused


def fused_in(table: Load) -> Fused:
    """Compiled kernels of a recording, wherever they are named."""
    names: set[str] = set()
    for name in ("frames", "ops", "kernels"):
        names |= set(table(name).text("name").values)
    return fused_kernels(table("marks"), names)


def has_steps(table: Load) -> bool:
    return bool(steady_steps(table("marks")).steps)


def profile(table: Load, wanted_ops: frozenset[str], root: str, by_step: bool) -> Profile:
    """Split one recording by every dimension that it has."""
    marks, threads = table("marks"), table("threads")
    steady = steady_steps(marks)
    cut = bool(steady.steps) and not by_step  # deep windows hold some of its steps, not a run
    steady = steady if by_step else Steady(steady.process, [], [])
    run = _span(table)
    everything = whole_run(*run)
    quiet = steady.quiet
    sampled = blocks_of(quiet) if quiet else everything
    sheets: list[Sheet | None] = []
    samples, stacks, frames = table("samples"), table("stacks"), table("frames")
    if len(samples):
        keys = stack_keys(stacks, frames, wanted_ops, root)
        sheets += sample_sheets(samples, stacks, threads, keys, sampled, steady.process)
    ops = table("ops")
    deep = None if cut else _deep(steady, marks, ops, everything)
    if len(ops) and deep is not None:
        sheets += op_sheets(ops, threads, deep, steady.process, wanted_ops, root)
        launch = rows_of(table("launches").array("launch"), table("kernels").array("launch"))
        launches = table("launches").array("start_ns")
        start = np.where(launch >= 0, launches[np.maximum(launch, 0)], -1) if len(launches) else None
        sheets.append(kernel_sheet(table("kernels"), deep, start))
    if not cut:
        listened = _listened(steady, marks, table("primitives"), everything)
        sheets.append(primitive_sheet(table("primitives"), listened))
    memory = memory_sheets(table("memory"), ops, marks, table("processes"), deep or everything)
    sheets += [sheet for sheet in memory if not cut or sheet.source == "the whole recording"]
    return Profile(
        np.array([s.duration_ns for s in quiet], np.float64) / 1e6,
        (run[1] - run[0]) / 1e6,
        {(s.dimension, s.source): s for s in sheets if s is not None and s.names},
        functions_seen(samples, stacks, frames, root) if len(samples) else {},
        fused_in(table),
    )


def _deep(steady: Steady, marks: Table, ops: Table, everything: Blocks) -> Blocks | None:
    """The steps in which operators were recorded: those of windows; all that hold operators in a trace."""
    if not steady.steps:
        return everything
    steps = windowed(steady, marks, "complete")
    if not marks.text("kind").equals("window").any():
        starts = np.sort(ops.array("start_ns"))
        steps = [
            s
            for s in steady.steps
            if np.searchsorted(starts, s.start_ns) < np.searchsorted(starts, s.start_ns + s.duration_ns)
        ]
    return blocks_of(steps) if steps else None


def _listened(steady: Steady, marks: Table, primitives: Table, everything: Blocks) -> Blocks:
    steps = windowed(steady, marks, "primitives")
    timed = len(primitives) and (primitives.array("start_ns") >= 0).any()
    if not steps and timed and not marks.text("kind").equals("window").any():
        steps = steady.steps
    return blocks_of(steps) if steps and timed and len(steps) >= 1 else everything


def _span(table: Load) -> tuple[int, int]:
    """First and last moment of the program itself, or of anything recorded."""
    processes = table("processes")
    if len(processes):
        main = int(np.argmin(np.where(processes.array("parent") < 0, 0, 1)))
        start, end = int(processes.array("start_ns")[main]), int(processes.array("end_ns")[main])
        if end > start >= 0:
            return start, end
    starts, ends = [], []
    for name in ("ops", "kernels", "marks"):
        if len(table(name)):
            starts.append(int(table(name).array("start_ns").min()))
            ends.append(int(table(name).array("end_ns").max()))
    if len(table("samples")):
        starts.append(int(table("samples").array("time_ns").min()))
        ends.append(int(table("samples").array("time_ns").max()))
    return (min(starts), max(ends)) if starts else (0, 0)


__all__ = ["FEWEST_STEPS", "Load", "Profile", "fused_in", "has_steps", "profile"]
