"""Collectives of one rank as a small sequence that other ranks can be matched with.

Enters: `Work`, `kernels`, `ops`. Leaves: `Collectives`: one entry per communication kernel, by start.
`key` is process group, sequence number and operation where the profiler tells them (torch ≥ 2.12): equal
keys on two ranks are the same call. Without sequence numbers the key is "" and calls are matched by order:
collectives of one group run in one order on every rank, or the program would hang.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sonde import json_text
from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.intervals import Times
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import COMMUNICATION
from sonde.columns import Array, Table

# Operations that no rank can leave before every rank has come: only their ends line up.
SYNCHRONISING = ("allreduce", "allgather", "reducescatter", "alltoall", "barrier")
_NESTING = 4  # operators between a kernel and the collective call that caused it
_OPERATION = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?(?:to|2)_?all|send_?recv|broadcast|barrier|reduce|gather|scatter|send|recv",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Collectives:
    """Communication kernels of one rank."""

    keys: list[str]
    kernels: list[str]  # operation by the kernel's name: what every rank sees alike
    operations: list[str]  # operation by metadata or operator, else the kernel's: sendrecv may be an alltoall
    streams: list[int]
    start: Times
    end: Times

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: list[int]) -> Collectives:
        """The kernels in `rows`, in that order."""
        return Collectives(
            [self.keys[i] for i in rows],
            [self.kernels[i] for i in rows],
            [self.operations[i] for i in rows],
            [self.streams[i] for i in rows],
            self.start[rows],
            self.end[rows],
        )

    def by_stream(self) -> dict[int, list[int]]:
        """Rows of each stream: process groups have streams of their own, and only within one is order certain."""
        rows: dict[int, list[int]] = {}
        for i, stream in enumerate(self.streams):
            rows.setdefault(stream, []).append(i)
        return rows


def collectives(work: Work, kernels: Table, ops: Table) -> Collectives:
    """All communication kernels of one rank."""
    mine = work.take(work.kind_class == COMMUNICATION)
    told = kernels.text("collective").take(mine.row)
    parsed = [json_text.object_of(v) for v in told.values]
    parsed.append({})  # what code -1 reads: a kernel without arguments
    by_operator = _by_operator(rows_of(ops.array("op"), mine.op), ops)
    by_kernel = [operation_of(n or "") for n in mine.name.tolist()]
    keys, operations = [], []
    parts: dict[str, int] = {}
    for code, of_operator, of_kernel in zip(told.codes.tolist(), by_operator, by_kernel, strict=True):
        meta = parsed[code]
        operation = operation_of(str(meta.get("Collective name") or "")) or of_operator or of_kernel
        operations.append(operation)
        keys.append(_key(meta, operation, parts))
    streams: list[int] = mine.stream.tolist()
    return Collectives(
        keys, by_kernel, operations, streams, mine.start.astype(np.int64), mine.end.astype(np.int64)
    )


@lru_cache(maxsize=65536)
def operation_of(name: str) -> str:
    """The operation in a kernel's or collective's name, in lower case without underscores."""
    match = _OPERATION.search(name)
    return match.group().lower().replace("_", "").replace("all2all", "alltoall") if match else ""


def _by_operator(rows: Array, ops: Table) -> list[str]:
    """The operation of the collective operator around each kernel (above record_param_comms: c10d::…)."""
    names, parent = ops.text("name"), parent_rows(ops)
    prefixes = ("nccl:", "c10d::", "c10d_functional::", "gloo:", "rccl:", "hccl:")
    collective = names.where(n.lstrip("_").startswith(prefixes) for n in names.values)
    found = np.full(len(rows), -1, np.int64)
    at = rows.copy()
    for _ in range(_NESTING):
        live = np.flatnonzero(at >= 0)
        if not len(live):
            break
        hit = live[collective[at[live]]]
        found[hit] = names.codes[at[hit]]
        at[live] = parent[at[live]]
        at[hit] = -1
    return [operation_of(names.values[c]) if c >= 0 else "" for c in found.tolist()]


def _key(meta: dict[str, object], operation: str, parts: dict[str, int]) -> str:
    group = meta.get("Process Group Name") or meta.get("Process Group Ranks")
    if meta.get("Seq") is None or not group:
        return ""
    key = f"{group}|{operation}|{meta['Seq']}"
    parts[key] = parts.get(key, -1) + 1  # one call may run as several kernels
    return f"{key}.{parts[key]}"
