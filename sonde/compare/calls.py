"""Sheets from recorded operator calls, device kernels, primitives and memory.

In: `ops`, `kernels`, `primitives`, `memory` of the profiling windows (or of an imported trace). Out: one sheet per
dimension, per step of those windows. Operator times are self times, so rows add up to the time inside operators: on the
device where the process used one, else on the host.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import sum_children
from sonde.analyze.memory.timeline import peaks
from sonde.analyze.ops.table import counted, device_time_caused
from sonde.analyze.primitives.table import executed
from sonde.columns import Array, Interner, Table, Text
from sonde.compare.blocks import Blocks
from sonde.compare.fusion import base, is_compiled
from sonde.compare.places import place
from sonde.compare.sheet import Sheet, coded, tally

HOST = "operator calls"
DEVICE = "operator calls, device time"
DEVICE_WORK = ("kernel", "memcpy", "memset")


def op_sheets(
    ops: Table,
    threads: Table,
    blocks: Blocks,
    process: int,
    wanted_ops: frozenset[str],
    root: str,
    kernels: Table,
) -> list[Sheet]:
    """op, shape, module and op line, of one process; `kernels` are its device events."""
    rows, parent = counted(ops)
    if kernels.text("kind").matches(DEVICE_WORK).any():
        source = DEVICE
        own = device_time_caused(ops, kernels, np.where(rows, np.arange(len(ops)), parent)) / 1e6
    else:
        source = HOST
        duration = np.where(ops.array("is_async"), 0, ops.array("end_ns") - ops.array("start_ns"))
        own = (duration - sum_children(parent, np.where(rows, duration, 0))) / 1e6
    at = rows_of(threads.array("thread"), ops.array("thread").astype(np.int64))
    if len(threads):
        rows = rows & ((at < 0) | (threads.array("process")[np.maximum(at, 0)] == process))
    block = np.where(rows, blocks.at(ops.array("start_ns")), -1)
    names = _fused_names(ops, parent, rows, wanted_ops)
    sheets = [tally("op", source, names, block, own, blocks)]
    shapes = ops.text("shapes")
    if (shapes.codes >= 0).any():
        sheets.append(tally("shape", source, _joined(ops.text("name"), shapes), block, own, blocks))
    if (ops.text("module").codes >= 0).any():
        sheets.append(tally("module", source, ops.text("module"), block, own, blocks))
    if (ops.text("file").codes >= 0).any():
        sheets.append(tally("op line", source, _lines(ops, root), block, own, blocks))
    return sheets


def calls_per_step(ops: Table, blocks: Blocks) -> float:
    """Operator calls in the median step: work that is counted, whatever the machine does."""
    rows, _ = counted(ops)
    block = blocks.at(ops.array("start_ns")[rows])
    return float(
        np.median(np.bincount(block[block >= 0], minlength=blocks.count) / np.maximum(blocks.steps, 1))
    )


def launch_starts(kernels: Table, launches: Table) -> Array | None:
    """When each device event was launched, -1 where that is not known."""
    if not len(launches):
        return None
    at = rows_of(launches.array("launch"), kernels.array("launch"))
    return np.where(at >= 0, launches.array("start_ns")[np.maximum(at, 0)], -1)


def kernel_sheet(kernels: Table, blocks: Blocks, launch_start: Array | None = None) -> Sheet | None:
    """Device kernels and copies, in the step that launched them where that is known."""
    work = kernels.text("kind").matches(DEVICE_WORK)
    if not work.any():
        return None
    moment = kernels.array("start_ns").copy()
    if launch_start is not None:
        moment = np.where(launch_start >= 0, launch_start, moment)
    amount = (kernels.array("end_ns") - kernels.array("start_ns")) / 1e6
    block = np.where(work, blocks.at(moment), -1)
    return tally("kernel", "device events", kernels.text("name"), block, amount, blocks)


def primitive_sheet(primitives: Table, blocks: Blocks) -> Sheet | None:
    """Primitives by kind and implementation, in the step that their time falls into."""
    if not len(primitives):
        return None
    rows = primitives.take(executed(primitives))
    # MKL names no direction and no implementation: its calls still count, by their kind.
    names = _joined(
        _joined(rows.text("kind"), rows.text("direction"), True), rows.text("implementation"), True
    )
    start = rows.array("start_ns")
    block = blocks.at(start) if blocks.unit == "step" else np.zeros(len(rows), np.int64)
    return tally(
        "primitive", "oneDNN and MKL calls", names, block, np.nan_to_num(rows.array("time_ms")), blocks
    )


def memory_sheets(memory: Table, ops: Table, marks: Table, processes: Table, blocks: Blocks) -> list[Sheet]:
    """Bytes that operators allocate per step; and, once per recording, peaks and resident memory."""
    sheets = []
    if len(memory):
        grown = memory.array("bytes") > 0
        at = rows_of(ops.array("op"), memory.array("op"))
        names = ops.text("name")
        codes = np.where((at >= 0) & grown, names.codes[np.maximum(at, 0)], -1) if len(names) else at * 0 - 1
        block = blocks.at(memory.array("time_ns"))
        size = memory.array("bytes").astype(np.float64)
        labels = [f"allocated by {name}" for name in names.values]
        sheets.append(tally("memory", "allocations", coded(codes, labels), block, size, blocks, "bytes"))
    highest = {f"peak in use on {p.device}": float(p.bytes + p.base_bytes) for p in peaks(memory, marks)}
    if highest:
        sheets.append(_once("tensors of the profiling windows", highest))
    resident = processes.array("max_rss_bytes")
    if len(resident) and int(resident.max()) > 0:
        sheets.append(_once("the whole recording", {"peak resident memory": float(resident.max())}))
    return sheets


def _once(source: str, values: dict[str, float]) -> Sheet:
    return Sheet("memory", source, "bytes", "run", list(values), np.array(list(values.values()))[:, None])


def _fused_names(ops: Table, parent: Array, rows: Array, wanted_ops: frozenset[str]) -> Text:
    """Names of ops, where a call inside an operator that a kernel contains counts as that operator."""
    names = ops.text("name")
    own = names.codes.copy()
    firm = np.array([is_compiled(v) or base(v) in wanted_ops for v in names.values] + [False], np.bool_)
    order = np.argsort(ops.array("start_ns"), kind="stable")  # a parent starts no later than its children
    settled = firm[own]
    for row in order.tolist():
        above = int(parent[row])
        if above >= 0 and settled[above]:
            own[row], settled[row] = own[above], True
    return Text(np.where(rows, own, -1).astype(np.int32), names.values)


def _joined(a: Text, b: Text, optional: bool = False) -> Text:
    """Both texts in one, null where either is; where only `b` is and it is `optional`, `a` alone."""
    pair = a.codes.astype(np.int64) * (len(b.values) + 1) + b.codes + 1
    known = (a.codes >= 0) & (optional | (b.codes >= 0))
    distinct, codes = np.unique(np.where(known, pair, -1), return_inverse=True)
    second = ["", *b.values]
    labels = [
        "" if p < 0 else f"{a.values[p // len(second)]} {second[p % len(second)]}".strip()
        for p in distinct.tolist()
    ]
    return Text(np.where(known, codes.reshape(-1), -1).astype(np.int32), labels)


def _lines(ops: Table, root: str) -> Text:
    intern = Interner()
    codes = [
        intern(None if file is None else f"{place(file, root)}:{line}")
        for file, line in zip(ops.text("file").tolist(), ops.array("line").tolist(), strict=True)
    ]
    return Text(np.asarray(codes, np.int32), intern.values)
