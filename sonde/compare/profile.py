"""Everything about one recording that a difference is made of: step times, and sheets by dimension.

In: the tables of a recording. Out: `Profile`. `wanted_ops` are the operators that compiled kernels of
either side contain (see `fusion`): both sides must be split by the same names. They must also
be split by the same unit: `by_step` is false as soon as one recording has no steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.columns import Table
from sonde.compare.blocks import (
    Blocks,
    Steady,
    blocks_of,
    steady_steps,
    whole_run,
    windowed,
)
from sonde.compare.calls import (
    calls_per_step,
    kernel_sheet,
    launch_starts,
    memory_sheets,
    op_sheets,
    primitive_sheet,
)
from sonde.compare.faults import faults
from sonde.compare.fusion import Fused, fused_kernels
from sonde.compare.pace import Pace, pace
from sonde.compare.renames import Function, Seen
from sonde.compare.samples import functions_seen, sample_sheets, stack_keys
from sonde.compare.sheet import Sheet
from sonde.compare.trace import is_trace, trace_sheets, units

Load = Callable[[str], Table]


@dataclass(frozen=True)
class Profile:
    """One recording, ready to be compared."""

    pace: Pace
    sheets: dict[tuple[str, str], Sheet]  # (dimension, source)
    functions: dict[Function, Seen]
    fused: Fused
    calls: float = 0.0  # operator calls per step of profiling windows; 0 when none were recorded
    steps: tuple[int, ...] = ()  # numbers of the steps compared, of the first rank of a trace


def fused_in(table: Load) -> Fused:
    """Compiled kernels of a recording, wherever they are named."""
    names: set[str] = set()
    for name in ("frames", "ops", "kernels"):
        names |= set(table(name).text("name").values)
    return fused_kernels(table("marks"), names)


def has_steps(table: Load) -> bool:
    return bool(units(table)) if is_trace(table) else bool(steady_steps(table).steps)


def pace_of(table: Load, by_step: bool) -> Pace:
    """How long a step (or the run) of a recording takes."""
    start_ns, end_ns = _span(table)
    whole = np.array([(end_ns - start_ns) / 1e6])
    if is_trace(table):
        return Pace(np.concatenate([u.step_ms for u in units(table)]) if by_step else whole, np.empty(0), 0.0)
    steady = steady_steps(table)
    samples, threads, counters = table("samples"), table("threads"), table("counters")
    if not by_step:
        faulted = faults(counters, steady.process, start_ns, end_ns, 1)
        return pace(whole, samples, threads, steady.process, whole_run(start_ns, end_ns), faulted)
    wall = np.array([s.duration_ns for s in steady.quiet], np.float64) / 1e6
    first, last = steady.steps[0], steady.steps[-1]
    faulted = faults(
        counters, steady.process, first.start_ns, last.start_ns + last.duration_ns, len(steady.steps)
    )
    return pace(wall, samples, threads, steady.process, blocks_of(steady.quiet), faulted)


def profile(table: Load, wanted_ops: frozenset[str], root: str, by_step: bool) -> Profile:
    """Split one recording by every dimension that it has."""
    if is_trace(table):
        sheets = trace_sheets(table, by_step, wanted_ops, root, _span(table))
        keyed = {(s.dimension, s.source): s for s in sheets}
        numbers = units(table)[0].numbers if by_step else ()
        return Profile(pace_of(table, by_step), keyed, {}, fused_in(table), steps=numbers)
    marks, threads = table("marks"), table("threads")
    steady = steady_steps(table)
    cut = bool(steady.steps) and not by_step  # profiling windows hold some of its steps, not a run
    steady = steady if by_step else Steady(steady.process, [], [])
    everything = whole_run(*_span(table))
    sampled = blocks_of(steady.quiet) if steady.quiet else everything
    found: list[Sheet | None] = []
    samples, stacks, frames = table("samples"), table("stacks"), table("frames")
    if len(samples):
        keys = stack_keys(stacks, frames, wanted_ops, root)
        found += sample_sheets(samples, stacks, threads, keys, sampled, steady.process)
    ops, kernels = table("ops"), table("kernels")
    deep = None if cut else _deep(steady, marks, ops, everything)
    if len(ops) and deep is not None:
        found += op_sheets(ops, threads, deep, steady.process, wanted_ops, root, kernels)
        found.append(kernel_sheet(kernels, deep, launch_starts(kernels, table("launches"))))
    if not cut:
        listened = _listened(steady, marks, table("primitives"), everything)
        found.append(primitive_sheet(table("primitives"), listened))
    memory = memory_sheets(table("memory"), ops, marks, table("processes"), deep or everything)
    found += [sheet for sheet in memory if not cut or sheet.source == "the whole recording"]
    return Profile(
        pace_of(table, by_step),
        {(s.dimension, s.source): s for s in found if s is not None and s.names},
        functions_seen(samples, stacks, frames, root) if len(samples) else {},
        fused_in(table),
        calls_per_step(ops, deep) if len(ops) and deep is not None and by_step else 0.0,
        tuple(s.index for s in steady.quiet),
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
