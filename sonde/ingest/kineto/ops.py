"""Operators, annotations and Python functions of a trace → the `ops` table with its tree.

Rows are ordered by thread and start; `op` is the row. The parent is the nearest
call on the same thread that holds the whole call. `forward_op` is what the
profiler's own arrows say; `sonde.link.forward` finds the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base import call_tree
from sonde.columns import Array, Column, Table, Text
from sonde.ingest.kineto.events import Clock, Events
from sonde.ingest.kineto.stacks import python_columns
from sonde.ingest.kineto.trace_library import FLOWS, OPS, NativeTrace
from sonde.store import build

ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "external_id": ("i64", ("External id", "external id")),
    "sequence": ("i64", ("Sequence number",)),
    "forward_thread": ("i64", ("Fwd thread id",)),
    "shapes": ("text", ("Input Dims", "Input dims")),
    "dtypes": ("text", ("Input type",)),
    "strides": ("text", ("Input Strides",)),
    "inputs": ("text", ("Concrete Inputs",)),
    "call_stack": ("text", ("Call stack",)),
    "hierarchy": ("text", ("Module Hierarchy",)),
}
_NOT_EXTRA = {key for _, keys in ARGUMENTS.values() for key in keys} | {"Device"}
# Arguments of record_param_comms, kept apart: kernels inherit them.
COLLECTIVE_KEYS = (
    "Collective name",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "In split size",
    "Out split size",
    "Group size",
    "Process Group Name",
    "Process Group ID",
    "Process Group Description",
    "Process Group Ranks",
    "Global rank start",
    "Global rank stride",
    "Rank",
    "Src Rank",
    "Dst Rank",
    "Seq",
    "Comms Id",
    "Is asynchronized op",
    "Input Tensors start",
    "Output Tensors start",
)
_ANNOTATION = re.compile(
    r"^(ProfilerStep|Optimizer\.(step|zero_grad)#|enumerate\(DataLoader\)|DistributedDataParallel\.forward"
    r"|## )"
)
_COMPILED = re.compile(
    r"Torch-Compiled Region|CompiledFunction|CompiledFxGraph|TorchDynamo|^triton_|^inductor|AOTDispatcher"
)
_BACKWARD = re.compile(r"^autograd::engine::|Backward\d*$|^torch::autograd::AccumulateGrad$")


@dataclass(frozen=True)
class Ops:
    """The table and what the device side needs of it, row by row."""

    table: Table
    track: Array
    collective: Text  # own arguments or those of the nearest op around it
    unnested: int  # calls that overlap their predecessor without nesting
    stacks_cut: int  # distinct stacks of which only the frames nearest to the op are kept


def ops_of(trace: NativeTrace, events: Events, clock: Clock, thread_of_track: Array) -> Ops:
    """The `ops` table of a trace; memory columns are filled in later."""
    order, parent, unnested = call_tree.nest(
        thread_of_track[events.track], events.start_ns, events.end_ns - events.start_ns
    )
    count = len(order)
    # Most files are in order already; then nothing is moved.
    rows: Array | slice = slice(None) if np.array_equal(order, np.arange(count)) else order
    start, end = events.start_ns[rows], events.end_ns[rows]
    track = events.track[rows]
    name = Text(events.name.codes[rows], events.name.values)
    args = {k: events.restrict(v)[rows] for k, v in trace.arguments(OPS, ARGUMENTS).items()}
    keys = trace.argument_keys()
    collective = events.restrict(trace.compose(OPS, [k in COLLECTIVE_KEYS for k in keys]))[rows]
    left = [k not in _NOT_EXTRA and k not in COLLECTIVE_KEYS and not k.startswith("Python ") for k in keys]
    extra = events.restrict(trace.compose(OPS, left))[rows]
    sequence, forward_thread = args["sequence"], args["forward_thread"]
    sequence[sequence < 0] = -1
    category = Text(events.category.codes[rows], events.category.values)
    kind = kinds_of(name, category, sequence, forward_thread)
    forward_op = _forward_by_arrows(trace, clock, thread_of_track, track, start, end, parent)
    origin, stacks_cut = python_columns(
        parent, name, kind, trace.text(args["call_stack"]), trace.text(args["hierarchy"])
    )
    columns: dict[str, Column] = {
        "op": np.arange(count, dtype=np.int64),
        "thread": thread_of_track[track],
        "start_ns": start,
        "end_ns": end,
        "parent": parent,
        "name": name,
        "kind": kind,
        "shapes": trace.text(args["shapes"]),
        "dtypes": trace.text(args["dtypes"]),
        "strides": trace.text(args["strides"]),
        "inputs": trace.text(args["inputs"]),
        "sequence": sequence,
        "forward_thread": forward_thread,
        "forward_op": forward_op,
        "external_id": args["external_id"],
        "extra": trace.text(extra),
        "cpu_mem_bytes": np.zeros(count, np.int64),
        "device_mem_bytes": np.zeros(count, np.int64),
        **origin,
    }
    inherited = call_tree.inherit(parent, collective)
    return Ops(build.table("ops", count, **columns), track, trace.text(inherited), unnested, stacks_cut)


def kinds_of(name: Text, category: Text, sequence: Array, forward_thread: Array) -> Text:
    """op, annotation, python, module, backward or compiled, from all that a call tells."""
    return _backward_by_thread(_kinds(name, category), sequence, forward_thread)


def _kinds(name: Text, category: Text) -> Text:
    """op, annotation, python, module, backward or compiled: the category, refined by the name."""
    kinds = ["op", "annotation", "python", "module", "backward", "compiled"]
    of_category = np.array(
        [{"user_annotation": 1, "python_function": 2}.get(v, 0) for v in category.values] + [0], np.int32
    )
    of_name = np.zeros(len(name.values) + 1, np.int32)
    for i, value in enumerate(name.values):
        if value.startswith("nn.Module: "):
            of_name[i] = 3
        elif _COMPILED.search(value):
            of_name[i] = 5
        elif _ANNOTATION.search(value):
            of_name[i] = 1
        elif _BACKWARD.search(value):
            of_name[i] = 4
    by_category, by_name = of_category[category.codes], of_name[name.codes]
    codes = by_category.copy()
    codes[(by_category == 2) & (by_name == 3)] = 3
    plain = by_category == 0
    codes[plain & (by_name != 3)] = by_name[plain & (by_name != 3)]
    codes[(by_category == 1) & (by_name == 5)] = 5
    return Text(codes, kinds)


def _backward_by_thread(kind: Text, sequence: Array, forward_thread: Array) -> Text:
    """An op that names the thread of its forward op is part of the backward pass."""
    codes = kind.codes.copy()
    codes[(codes == 0) & (sequence >= 0) & (forward_thread > 0)] = kind.values.index("backward")
    return Text(codes, kind.values)


def _forward_by_arrows(
    trace: NativeTrace,
    clock: Clock,
    thread_of_track: Array,
    track: Array,
    start: Array,
    end: Array,
    parent: Array,
) -> Array:
    """The forward op of each row to which the profiler drew a forward → backward arrow, -1 for the rest."""
    forward_op = np.full(len(start), -1, np.int64)
    codes = trace.column(FLOWS, "category")
    category = trace.text(codes)
    wanted = category.matches(("fwdbwd", "forward_backward"))
    if not wanted.any():
        return forward_op
    flow_track = trace.column(FLOWS, "track")[wanted]
    time = trace.column(FLOWS, "start_ns")[wanted] + clock.base_ns[flow_track]
    phase = trace.column(FLOWS, "name")[wanted]
    number = trace.column(FLOWS, "id")[wanted]
    thread = thread_of_track[flow_track]
    row = call_tree.enclose(thread_of_track[track], start, end, parent, None, thread, time)
    hit = (row >= 0) & (thread >= 0)
    hit[hit] = start[row[hit]] == time[hit]  # an arrow starts and ends where its op starts
    source = {
        int(n): int(r) for n, r in zip(number[hit & (phase == 0)], row[hit & (phase == 0)], strict=True)
    }
    for n, r in zip(number[hit & (phase == 2)], row[hit & (phase == 2)], strict=True):
        found = source.get(int(n))
        if found is not None:
            forward_op[r] = found
    return forward_op
