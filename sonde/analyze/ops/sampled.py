"""Operators by samples: which group of calls each sample belongs to, and the table when no call was recorded.

A sample in a window is joined to its call (`samples.op`). Outside of windows the sampled stack still
names the operator, so a table by name rests on the whole run; shapes, lines and phases
are known only for recorded calls, and there only joined samples count.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.ops.table import Groups
from sonde.analyze.samples.operators_on_stack import stack_operators
from sonde.columns import Array, Interner, Table, Text


def sample_groups(samples: Table, ops: Table, groups: Groups, stacks: Table, frames: Table, by: str) -> Array:
    """For each sample the group of its innermost operator, -1 when it is in none."""
    at = rows_of(ops.array("op"), samples.array("op"))
    found = np.where(at >= 0, groups.of_row[np.maximum(at, 0)] if len(ops) else -1, -1)
    if by != "name":
        return found
    on_stack = stack_operators(samples, stacks, frames)
    number = {name: i for i, name in enumerate(groups.name.tolist())}
    recode = np.array([number.get(name, -1) for name in on_stack.values] + [-1], np.int64)
    return np.where(found >= 0, found, recode[on_stack.codes])


def sampled_ops(samples: Table, stacks: Table, frames: Table) -> tuple[Table, Array]:
    """Operators on the stacks of on-CPU samples, largest self time first, and each sample's row.

    Columns: name, self_ns, total_ns, samples (self), total_samples. A recursive operator counts once.
    """
    busy = ~samples.text("state").equals("waiting")
    names, chains = _operators_of_stacks(stacks, frames)
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    count = len(names)
    self_ns, total_ns = np.zeros(count, np.int64), np.zeros(count, np.int64)
    self_n, total_n = np.zeros(count, np.int64), np.zeros(count, np.int64)
    group = np.full(len(samples), -1, np.int64)
    weight = samples.array("weight_ns").tolist()
    for row, (stack, on_cpu) in enumerate(zip(at.tolist(), busy.tolist(), strict=True)):
        chain = chains[stack] if stack >= 0 else ()
        if not chain:
            continue
        group[row] = chain[-1]
        if on_cpu:
            self_ns[chain[-1]] += weight[row]
            self_n[chain[-1]] += 1
            for name in set(chain):
                total_ns[name] += weight[row]
                total_n[name] += 1
    order = np.argsort(-self_ns, kind="stable")
    order = order[total_n[order] > 0]
    place = np.full(count + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    table = Table(
        "sampled_ops",
        {
            "name": Text(order.astype(np.int32), names),
            "self_ns": self_ns[order],
            "total_ns": total_ns[order],
            "samples": self_n[order],
            "total_samples": total_n[order],
        },
    )
    return table, place[group]


def _operators_of_stacks(stacks: Table, frames: Table) -> tuple[list[str], list[tuple[int, ...]]]:
    """Names of operators, and for each row of `stacks` those on it from the root on."""
    intern = Interner()
    is_op, names = frames.text("layer").equals("op"), frames.text("name")
    frame = rows_of(frames.array("frame"), stacks.array("frame"))
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    chains: list[tuple[int, ...]] = [()] * len(stacks)
    for row in np.argsort(stacks.array("depth"), kind="stable").tolist():
        above = chains[parent[row]] if parent[row] >= 0 else ()
        own = frame[row]
        chains[row] = (*above, intern(names[own])) if own >= 0 and is_op[own] else above
    return intern.values, chains
