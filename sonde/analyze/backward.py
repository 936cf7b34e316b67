"""Link backward operators to the forward operator that made their autograd node.

The node's sequence number is the one that the forward operator saw when it began; of
several that saw it (a composite operator and the one inside that made the node) the last
to begin made it. Everything inside a backward node belongs to it. A node without a number
accumulates a gradient: the engine runs it right after the node that produced that
gradient, so it belongs to the forward operator of the node before it.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.join import parent_rows
from sonde.analyze.nesting import depths
from sonde.columns import Array, Table, Text

NODE = "autograd::engine::evaluate_function: "
ACCUMULATE = NODE + "torch::autograd::AccumulateGrad"


def forward_rows(ops: Table) -> Array:
    """For each row of `ops` (one process, one window), the row of its forward op, -1 when none."""
    count = len(ops)
    result = np.full(count, -1, np.int64)
    if not count:
        return result
    names = ops.text("name")
    is_node = np.isin(names.codes, [i for i, v in enumerate(names.values) if v.startswith(NODE)])
    accumulates = names.equals(ACCUMULATE)
    start = ops.array("start_ns")
    sequence = ops.array("sequence")
    parent = parent_rows(ops)
    in_node = is_node | _inside(parent, is_node)
    made = (sequence >= 0) & ~in_node & (ops.array("forward_thread") <= 0)
    candidates = np.flatnonzero(made)
    # Last to begin per number. Numbers are per thread; forward threads of a window's process rarely
    # meet in one number, and then the later one is as good a guess as any.
    candidates = candidates[np.lexsort((start[candidates], sequence[candidates]))]
    numbers = sequence[candidates]
    last = np.append(numbers[1:] != numbers[:-1], True) if len(numbers) else np.empty(0, np.bool_)
    numbers, makers = numbers[last], candidates[last]
    nodes = np.flatnonzero(is_node & (sequence >= 0) & ~accumulates)
    if len(numbers):
        at = np.minimum(np.searchsorted(numbers, sequence[nodes]), len(numbers) - 1)
        result[nodes] = np.where(numbers[at] == sequence[nodes], makers[at], -1)
    _follow_previous(result, ops, np.flatnonzero(is_node), start)
    return _inherit(result, parent, is_node)


def with_forward(ops: Table) -> Table:
    """`ops` with forward_op set, and module, file, line and stack of backward ops taken from there."""
    rows = forward_rows(ops)
    linked = rows >= 0
    source = np.where(linked, rows, np.arange(len(ops)))
    columns: dict[str, Array | Text] = {
        "forward_op": np.where(linked, ops.array("op")[np.maximum(rows, 0)], -1),
        "line": ops.array("line")[source],
    }
    for name in ("module", "file", "stack"):
        columns[name] = ops.text(name).take(source)
    return ops.with_columns(**columns)


def _inside(parent: Array, mask: Array) -> Array:
    """Rows that have an ancestor in `mask`."""
    result = np.zeros(len(parent), np.bool_)
    depth = depths(parent)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        above = parent[rows]
        result[rows] = mask[above] | result[above]
    return result


def _follow_previous(result: Array, ops: Table, nodes: Array, start: Array) -> None:
    """Nodes without a forward op take that of the node before them on the thread."""
    thread = ops.array("thread")
    nodes = nodes[np.lexsort((start[nodes], thread[nodes]))]
    names = ops.text("name")
    accumulates = names.equals(ACCUMULATE)
    previous, owner = -1, None
    for row in nodes.tolist():
        if thread[row] != owner:
            owner, previous = thread[row], -1
        if result[row] < 0 and accumulates[row]:
            result[row] = previous
        elif result[row] >= 0:
            previous = int(result[row])


def _inherit(result: Array, parent: Array, is_node: Array) -> Array:
    """What is inside a node belongs to the node's forward op."""
    depth = depths(parent)
    inside = is_node.copy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero((depth == level) & ~is_node)
        above = parent[rows]
        rows, above = rows[inside[above]], above[inside[above]]
        inside[rows] = True
        result[rows] = result[above]
    return result
