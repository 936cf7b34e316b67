"""Kernels by name: how often, how long, how full, made by whom, launched from where.

Enters: `Work`, `kernels`, `ops`. Leaves: `KernelRow` per name, `KernelOrigin` per name, operator and line.
Means of blocks per SM and of occupancy are weighted by duration, an unknown value counting as 0
(the TensorBoard plugin's formula). The share is of the summed time of all events listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import CLASSES, fused_operators, origin_of, uses_tensor_cores
from sonde.columns import Array, Table, median


@dataclass(frozen=True)
class KernelRow:
    """All events of one name."""

    name: str
    kind: str
    kernel_class: str
    origin: str  # inductor, triton, cudnn, aten, …
    fused: tuple[str, ...]  # operators an Inductor kernel fuses, as its name lists them
    tensor_cores: bool
    calls: int
    total_ns: int
    share: float
    median_ns: float
    min_ns: int
    max_ns: int
    mean_blocks_per_sm: float
    mean_occupancy: float
    graph_calls: int  # of these, replayed by a CUDA or HIP graph

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.calls


@dataclass(frozen=True)
class KernelOrigin:
    """Events of one kernel name caused by one operator on one line."""

    kernel: str
    op: str
    module: str
    file: str
    line: int
    calls: int
    total_ns: int


def kernel_table(work: Work, kernels: Table) -> list[KernelRow]:
    """One row per name and kind, most time first."""
    kinds = kernels.text("kind").take(work.row)
    length = work.durations
    whole = int(length.sum())
    blocks = np.nan_to_num(kernels.array("blocks_per_sm")[work.row])
    occupancy = np.nan_to_num(kernels.array("occupancy")[work.row])
    in_graph = _graph_rows(work, kernels)
    rows = []
    for mine in groups(work.name.codes.astype(np.int64) * (len(kinds.values) + 1) + kinds.codes):
        at = int(mine[0])
        name, times = work.name[at] or "", length[mine]
        total = int(times.sum())
        weight = max(total, 1)
        rows.append(
            KernelRow(
                name=name,
                kind=kinds[at] or "kernel",
                kernel_class=CLASSES[int(work.kind_class[at])],
                origin=origin_of(name),
                fused=fused_operators(name),
                tensor_cores=uses_tensor_cores(name),
                calls=len(mine),
                total_ns=total,
                share=total / whole if whole else 0.0,
                median_ns=median(times),
                min_ns=int(times.min()),
                max_ns=int(times.max()),
                mean_blocks_per_sm=float((blocks[mine] * times).sum() / weight),
                mean_occupancy=float((occupancy[mine] * times).sum() / weight),
                graph_calls=int(in_graph[mine].sum()),
            )
        )
    return sorted(rows, key=lambda r: (-r.total_ns, r.name))


def kernel_origins(work: Work, ops: Table) -> list[KernelOrigin]:
    """Which operator, module and line caused each kernel, most time first; "" and -1 where unknown."""
    row = rows_of(ops.array("op"), work.op)
    known = row >= 0
    names, modules, files = ops.text("name"), ops.text("module"), ops.text("file")
    lines = ops.array("line")
    code = np.zeros(len(work), np.int64)
    for column, size in (
        (names.codes, len(names.values)),
        (modules.codes, len(modules.values)),
        (files.codes, len(files.values)),
        (lines, int(lines.max(initial=-1)) + 1),
    ):
        picked = np.full(len(work), -1, np.int64)
        picked[known] = column[row[known]]
        # Renumber after each column so that the product of sizes cannot overflow.
        code = np.unique(code * (size + 2) + picked + 1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    length = work.durations
    found = []
    for mine in groups(code * (len(work.name.values) + 1) + work.name.codes):
        at, op = int(mine[0]), int(row[mine[0]])
        found.append(
            KernelOrigin(
                kernel=work.name[at] or "",
                op=(names[op] or "") if op >= 0 else "",
                module=(modules[op] or "") if op >= 0 else "",
                file=(files[op] or "") if op >= 0 else "",
                line=int(lines[op]) if op >= 0 else -1,
                calls=len(mine),
                total_ns=int(length[mine].sum()),
            )
        )
    return sorted(found, key=lambda r: (-r.total_ns, r.kernel, r.op))


def groups(key: Array) -> list[Array]:
    """Row indices of each distinct key, ascending within a group."""
    if not len(key):
        return []
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    return np.split(order, cuts)


def _graph_rows(work: Work, kernels: Table) -> Array:
    graph = kernels.array("graph")[work.row]
    return np.asarray(graph > 0)
