"""Link backward operators to the forward operator that made their autograd node.

The node's sequence number is the one that the forward operator saw when it began; of
several that saw it (a composite operator and the one inside that made the node) the last
to begin made it. Where the profiler itself drew an arrow (`forward_op` is set), that decides. Everything inside a
backward node belongs to it. A node without a number
accumulates a gradient: the engine runs it right after the node that produced that
gradient, so it belongs to the forward operator of the node before it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.analyze.base.nesting import nearest, skip
from sonde.columns import Array, Table, Text

NODE = "autograd::engine::evaluate_function: "
ACCUMULATE = NODE + "torch::autograd::AccumulateGrad"


def forward_rows(ops: Table) -> Array:
    """For each row of `ops` (calls of one source), the row of its forward op, -1 when none."""
    result = rows_of(ops.array("op"), ops.array("forward_op"))
    if not len(ops):
        return result
    names = ops.text("name")
    is_node = np.isin(names.codes, [i for i, v in enumerate(names.values) if v.startswith(NODE)])
    start, sequence = ops.array("start_ns"), ops.array("sequence")
    from_forward = (sequence >= 0) & (ops.array("forward_thread") > 0)
    if not is_node.any() and not from_forward.any():  # no backward pass
        return result
    parent = parent_rows(ops)
    inside_node = skip(parent, is_node) >= 0
    # Traces of torch before 1.9 have no nodes: there the calls that name a forward thread are the backward pass.
    is_node = is_node | (from_forward & ~inside_node)
    makers = np.flatnonzero((sequence >= 0) & ~from_forward & ~is_node & ~inside_node)
    nodes = np.flatnonzero(is_node & (sequence >= 0) & ~names.equals(ACCUMULATE) & (result < 0))
    result[nodes] = _last_before(makers, nodes, sequence, start)
    _follow_previous(result, ops, np.flatnonzero(is_node), start)
    node = nearest(parent, is_node)
    return np.where(node >= 0, result[np.maximum(node, 0)], result)


def _last_before(makers: Array, nodes: Array, sequence: Array, start: Array) -> Array:
    """For each node, the last of `makers` with its number that began before it, -1 when none.

    Numbers are per thread; forward threads of one process rarely meet in one number, and then the later one is as
    good a guess as any.
    """
    rows = np.concatenate([makers, nodes])
    is_node = np.repeat([False, True], [len(makers), len(nodes)])
    order = np.lexsort((is_node, start[rows], sequence[rows]))
    rows, is_node = rows[order], is_node[order]
    last = np.maximum.accumulate(np.where(is_node, -1, np.arange(len(rows)))) if len(rows) else rows
    fits = is_node & (last >= 0)
    fits[fits] = sequence[rows[last[fits]]] == sequence[rows[fits]]
    found = np.full(len(sequence), -1, np.int64)
    found[rows[fits]] = rows[last[fits]]
    return found[nodes]


def with_forward(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`ops` with forward_op set, and module, file, line and stack of backward ops taken from there."""
    ops = tables["ops"]
    rows = forward_rows(ops)
    linked = rows >= 0
    if not linked.any():
        return {}
    source = np.where(linked, rows, np.arange(len(ops)))
    columns: dict[str, Array | Text] = {
        "forward_op": np.where(linked, ops.array("op")[np.maximum(rows, 0)], -1),
        "line": ops.array("line")[source],
    }
    for name in ("module", "file", "stack"):
        columns[name] = ops.text(name).take(source)
    return {"ops": ops.with_columns(**columns)}


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
