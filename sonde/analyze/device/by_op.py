"""Device time of operators, modules and lines.

Enters: `Work`, `ops`. Leaves: per-call arrays, or `DeviceRow` per group.
    device self of a call  = duration of the events whose innermost operator it is
    device total of a call = its own and those of all calls inside it
    a group's total counts a call only when no call around it is of the same group, so recursion
    and wrappers of the same name are not counted twice and no total exceeds the whole
Durations are summed, not united: two streams at once give two seconds per second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.intervals import Times
from sonde.analyze.base.nesting import depths, sum_up
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import by_name, uses_tensor_cores
from sonde.analyze.device.kernel_table import groups
from sonde.columns import Array, Table, Text

_DEEP = 500  # levels of calls that no program has by itself


@dataclass(frozen=True)
class DeviceRow:
    """All calls of one group."""

    key: str
    calls: int
    device_self_ns: int
    device_total_ns: int
    host_total_ns: int
    tensor_core_self_share: float
    launched: int  # device events the calls launched themselves


@dataclass(frozen=True)
class CallTimes:
    """Device time of each row of `ops`."""

    self_ns: Times
    total_ns: Times
    tensor_core_ns: Times
    launched: Array


def call_times(work: Work, ops: Table) -> CallTimes:
    """Device self and total time of each operator call."""
    row = rows_of(ops.array("op"), work.op)
    known = row >= 0
    length = work.durations
    cores = by_name(work.name, uses_tensor_cores)
    self_ns = _sum(row[known], length[known], len(ops))
    core_ns = _sum(row[known & cores], length[known & cores], len(ops))
    launched = np.bincount(row[known], minlength=len(ops)) if len(ops) else np.empty(0, np.int64)
    return CallTimes(self_ns, sum_up(parent_rows(ops), self_ns), core_ns, launched)


def device_by(work: Work, ops: Table, key: Text, times: CallTimes | None = None) -> list[DeviceRow]:
    """Device time grouped by a text column over `ops` (name, module, …); null keys are left out.

    `times` spares computing them again when several groupings are asked for.
    """
    times = times or call_times(work, ops)
    outermost = ~inside_same(key.codes, parent_rows(ops))
    host = ops.array("end_ns") - ops.array("start_ns")
    rows = []
    present = np.flatnonzero(key.codes >= 0)
    for part in groups(key.codes[present]):
        mine = present[part]
        outer = mine[outermost[mine]]
        own = int(times.self_ns[mine].sum())
        rows.append(
            DeviceRow(
                key=key.values[int(key.codes[mine[0]])],
                calls=len(mine),
                device_self_ns=own,
                device_total_ns=int(times.total_ns[outer].sum()),
                host_total_ns=int(host[outer].sum()),
                tensor_core_self_share=int(times.tensor_core_ns[mine].sum()) / own if own else 0.0,
                launched=int(times.launched[mine].sum()),
            )
        )
    return sorted(rows, key=lambda r: (-r.device_self_ns, -r.device_total_ns, r.key))


def module_key(ops: Table) -> Text:
    """The module of each call: its path where known, else the name of an nn.Module frame of the trace."""
    modules = ops.text("module")
    if (modules.codes >= 0).any():
        return modules
    names = ops.text("name")
    is_module = ops.text("kind").equals("module") | by_name(names, lambda n: n.startswith("nn.Module: "))
    return Text(np.where(is_module, names.codes, -1).astype(np.int32), names.values)


def line_key(ops: Table) -> Text:
    """The user's line of each call as file:line, null where unknown."""
    files, lines = ops.text("file"), ops.array("line")
    pair = files.codes.astype(np.int64) * (int(lines.max(initial=0)) + 2) + lines
    pair[files.codes < 0] = -1
    distinct, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    values = [
        f"{files[int(at)]}:{int(lines[at])}" if code != -1 else ""
        for code, at in zip(distinct, first, strict=True)
    ]
    codes = np.where(pair == -1, -1, inverse.reshape(-1)).astype(np.int32)
    return Text(codes, values)


def inside_same(code: Array, parent: Array) -> Array:
    """Whether some call around each row has the same code."""
    found = np.zeros(len(parent), bool)
    if int(depths(parent).max(initial=0)) > _DEEP:
        return _inside_same_deep(code, parent)
    at = parent.copy()
    rows = np.flatnonzero(at >= 0)
    while len(rows):
        same = code[at[rows]] == code[rows]
        found[rows[same]] = True
        rows = rows[~same]
        at[rows] = parent[at[rows]]
        rows = rows[at[rows] >= 0]
    return found


def _inside_same_deep(code: Array, parent: Array) -> Array:
    """The same row by row: linear, where looking up level by level would go by the square of the depth."""
    found = np.zeros(len(parent), bool)
    order = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[order], np.arange(-1, len(parent) + 1)).tolist()
    codes, children = code.tolist(), order.tolist()
    around: dict[int, int] = {}
    work = children[first[0] : first[1]]
    while work:
        row = work.pop()
        if row < 0:  # all within ~row is done
            around[codes[~row]] -= 1
            continue
        found[row] = around.get(codes[row], 0) > 0
        around[codes[row]] = around.get(codes[row], 0) + 1
        work.append(~row)
        work += children[first[row + 1] : first[row + 2]]
    return found


def _sum(rows: Array, values: Array, count: int) -> Times:
    total = np.zeros(count, np.int64)
    np.add.at(total, rows, values)
    return total
