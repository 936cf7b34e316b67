"""Sheets from samples: operator, module, function, line, kernel and thread state, in ms per step.

In: samples, stacks, frames, threads. Out: one sheet per dimension. On-CPU time is of all threads of the
process that makes the steps, a pool worker's counted where the owner's stack is; functions and
lines are told by the threads that run Python, their waiting included: that is the time a user waits.
Busy waiting counts as thread state only, not as work of an operator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.moments import moments
from sonde.columns import Array, Interner, Table, Text
from sonde.compare.blocks import Blocks
from sonde.compare.fusion import base, is_compiled
from sonde.compare.places import is_users, place
from sonde.compare.renames import Function, Seen
from sonde.compare.sheet import Sheet, coded, tally
from sonde.compare.variants import cpu_kernel, has_variants

SOURCE = "samples"
# Threads whose waiting holds up a step; helpers of libraries wait for work most of their life.
WAITING_THREADS = ("main", "omp", "autograd", "dataloader", "python")
_NUMBERED = re.compile(r"\.\d+$")  # JIT kernels are numbered in the order of their making


@dataclass(frozen=True)
class StackKeys:
    """For every stack node the name it counts under in each dimension, null for none."""

    op: Text
    module: Text
    function: Text
    line: Text
    kernel: Text


def stack_keys(stacks: Table, frames: Table, wanted_ops: frozenset[str], root: str) -> StackKeys:
    """`wanted_ops` are base names that compiled kernels contain: calls inside such an operator count as it."""
    layer, name = frames.text("layer").tolist(), frames.text("name").tolist()
    file, line = frames.text("file").tolist(), frames.array("line").tolist()
    library, runtime = frames.text("library").tolist(), frames.array("runtime").tolist()
    interners = {d: Interner() for d in ("op", "module", "function", "line", "kernel")}
    count = len(stacks)
    codes = {dimension: np.full(count, -1, np.int32) for dimension in interners}
    firm = np.zeros(count, np.bool_)  # the op is settled: nothing deeper may replace it
    in_kernel = np.zeros(count, np.bool_)  # the kernel is one of PyTorch's own for an instruction set
    full_names = frames.text("full_name").tolist()
    kernels, varies = [cpu_kernel(n) for n in full_names], [has_variants(n) for n in full_names]
    parents, frame_of = stacks.array("parent").tolist(), stacks.array("frame").tolist()
    for node in range(count):  # a parent's row is always above its children's
        above, frame = parents[node], frame_of[node]
        if above >= 0:
            for dimension in codes:
                codes[dimension][node] = codes[dimension][above]
            firm[node], in_kernel[node] = firm[above], in_kernel[above]
        kind, label = layer[frame], name[frame] or "unknown"
        compiled = kind in ("op", "native", "jit") and is_compiled(label)
        if kind == "op" or compiled:
            inside_wanted = firm[node] and not compiled
            if not inside_wanted:
                codes["op"][node] = interners["op"](label)
                firm[node] = compiled or base(label) in wanted_ops
        elif kind == "module":
            codes["module"][node] = interners["module"](label)
        elif kind == "python" and is_users(file[frame]):
            where = place(file[frame] or "?", root)
            codes["function"][node] = interners["function"](f"{where} {label}")
            codes["line"][node] = interners["line"](f"{where}:{line[frame]} {label}")
        if kind in ("jit", "gpu") or kernels[frame] or (kind == "native" and not runtime[frame]):
            owner = f" ({library[frame]})" if kind == "native" and library[frame] else ""
            plain = kernels[frame] or (_NUMBERED.sub("", label) if kind == "jit" else label)
            # Helpers of a kernel that are not inlined in one variant are in the other.
            if not (in_kernel[node] and varies[frame] and not kernels[frame]):
                codes["kernel"][node] = interners["kernel"](plain + owner)
                in_kernel[node] = kernels[frame] is not None
    return StackKeys(*(Text(codes[d], interners[d].values) for d in codes))


def sample_sheets(
    samples: Table, stacks: Table, threads: Table, keys: StackKeys, blocks: Blocks, process: int
) -> list[Sheet]:
    """The sheets of one recording."""
    row = rows_of(threads.array("thread"), samples.array("thread"))
    known = row >= 0
    if len(threads):
        ours = threads.text("kind").equals("sonde")
        known &= (threads.array("process")[np.maximum(row, 0)] == process) & ~ours[np.maximum(row, 0)]
    samples, row = samples.take(known), row[known]
    state = samples.text("state")
    waiting = state.equals("waiting")
    kinds = threads.text("kind").take(row)
    python_thread = kinds.matches(("main", "autograd", "python"))
    # What the machine took away is no property of the program, and idle pools wait all their life.
    idle = samples.text("reason").matches(("idle", "preempted"))
    time_ns, weight = samples.array("time_ns"), samples.array("weight_ns") / 1e6
    block, moment = blocks.at(time_ns), moments(time_ns)
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    working = state.equals("running") & (at >= 0)
    sheets = []
    for dimension, column in (("op", keys.op), ("module", keys.module), ("kernel", keys.kernel)):
        codes = (
            np.where(working, column.codes[np.maximum(at, 0)], -1) if len(column) else np.full(len(at), -1)
        )
        sheets.append(
            tally(dimension, SOURCE, coded(codes, column.values), block, weight, blocks, moment=moment)
        )
    on_cpu = python_thread & ~waiting & (at >= 0)
    waits = np.flatnonzero(waiting & python_thread & ~idle & kinds.equals("main"))
    for dimension, column in (("function", keys.function), ("line", keys.line)):
        codes = np.where(on_cpu, column.codes[np.maximum(at, 0)], -1) if len(column) else np.full(len(at), -1)
        sheet = tally(dimension, SOURCE, coded(codes, column.values), block, weight, blocks, moment=moment)
        sheets.append(_with_waits(sheet, column, at, waits, time_ns, weight, blocks))
    names = [f"{kind or 'thread'} {what}" for kind, what in zip(kinds.tolist(), state.tolist(), strict=True)]
    running = Text.of([None if off else name for name, off in zip(names, waiting.tolist(), strict=True)])
    states = tally("state", SOURCE, running, block, weight, blocks, moment=moment)
    reasons = samples.text("reason").tolist()
    labels = Text.of(
        [f"{kinds[i] or 'thread'} waiting ({reasons[i] or 'other'})" for i in range(len(samples))]
    )
    every = np.flatnonzero(waiting & ~idle & kinds.matches(WAITING_THREADS))
    sheets.append(_with_waits(states, labels, np.arange(len(samples)), every, time_ns, weight, blocks))
    return sheets


def _with_waits(
    sheet: Sheet, column: Text, at: Array, waits: Array, time_ns: Array, weight: Array, blocks: Blocks
) -> Sheet:
    """A wait lasts from its moment on, possibly over many steps: each gets its part."""
    extra: dict[str, Array] = {}
    steps = np.maximum(blocks.steps, 1)
    for i in waits.tolist():
        name = column[int(at[i])] if at[i] >= 0 else None
        if name is None:
            continue
        shared = blocks.overlap(int(time_ns[i]), int(time_ns[i] + weight[i] * 1e6)) / 1e6 / steps
        extra[name] = extra.get(name, 0.0) + shared
    if not extra:
        return sheet
    table = dict(zip(sheet.names, sheet.values, strict=True))
    variance = sheet.sampling_variance if sheet.sampling_variance is not None else np.zeros(len(sheet.names))
    spread = dict(zip(sheet.names, variance.tolist(), strict=True))
    for name, values in extra.items():
        table[name] = table.get(name, 0.0) + values
    names = sorted(table)
    return Sheet(
        sheet.dimension, sheet.source, sheet.measure, sheet.unit, names,
        np.array([table[n] for n in names]), np.array([spread.get(n, 0.0) for n in names]),
    )  # fmt: skip


def functions_seen(samples: Table, stacks: Table, frames: Table, root: str) -> dict[Function, Seen]:
    """The user's functions with time by line and what they call, for matching versions."""
    weight = np.zeros(len(stacks))
    stack = samples.array("stack")
    known = stack >= 0
    np.add.at(weight, stack[known], samples.array("weight_ns")[known] / 1e6)
    parents, frame_of = stacks.array("parent").tolist(), stacks.array("frame").tolist()
    for node in range(len(stacks) - 1, -1, -1):  # children come after their parents
        if parents[node] >= 0:
            weight[parents[node]] += weight[node]
    layer, name = frames.text("layer").tolist(), frames.text("name").tolist()
    file, line = frames.text("file").tolist(), frames.array("line").tolist()
    runtime = frames.array("runtime").tolist()
    found: dict[Function, Seen] = {}
    inside: list[Seen | None] = []  # per node: the innermost user's function at or above it
    for node in range(len(stacks)):
        frame = frame_of[node]
        outer = inside[parents[node]] if parents[node] >= 0 else None
        if layer[frame] == "python" and is_users(file[frame]):
            seen = found.setdefault((place(file[frame] or "?", root), name[frame] or "?"), Seen())
            seen.lines[line[frame]] = seen.lines.get(line[frame], 0.0) + weight[node]
            if outer is not None:
                outer.callees.add(name[frame] or "?")
            inside.append(seen)
            continue
        if outer is not None and not runtime[frame] and layer[frame] in ("python", "op", "module"):
            outer.callees.add(name[frame] or "?")
        inside.append(outer)
    return found
