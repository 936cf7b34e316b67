"""Operator calls → the page.

`calls` are the distinct operators (name, kind, module, line), `opnodes` the
prefix tree of their nesting, `ops` the calls themselves as the timeline draws
them. When there are too many calls to carry, the shortest are left out of `ops`
(their memory goes to the nearest caller that stays). The exact sums over the
whole recording are the answer of the view `ops` (`sonde.render.html.answers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.analyze.base.grouping import group, prefix_tree, rows_of
from sonde.analyze.base.nesting import depths, levels, sum_children, sum_up
from sonde.analyze.ops.table import counted
from sonde.analyze.ops.taken import taken_from_calls
from sonde.columns import Array, Table
from sonde.render.html.limits import Limits
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

# Order is the order of the codes in the page (web/src/data/model.ts).
KINDS = ("op", "annotation", "python", "module", "backward", "compiled")


@dataclass(frozen=True)
class OpRows:
    """Where each op of the recording is in the page's `ops` (itself or the caller that stayed)."""

    identities: Array
    page_row: Array
    facts: dict[str, Any]

    def find(self, op: Array) -> Array:
        """Page row of op identities, -1 when unknown."""
        row = rows_of(self.identities, op)
        if not len(self.page_row):
            return row
        return np.where(row >= 0, self.page_row[np.maximum(row, 0)], -1)


def add_operators(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> OpRows:
    """Put calls, nesting, op rows and exact totals into the payload."""
    ops = recording.table("ops")
    identities = ops.array("op")
    parent = rows_of(identities, ops.array("parent"))
    depth = depths(parent)
    parent = np.where(depth > 0, parent, -1)  # a call inside itself, in a damaged recording, is a root
    ops = ops.with_columns(op=np.arange(len(ops)), parent=parent)
    # Always positive, so that a damaged event can be drawn and cannot eat its parent's time.
    duration = np.maximum(ops.array("end_ns") - ops.array("start_ns"), 0)
    own = _self_ns(parent, duration, ops.array("is_async"))
    counts, extra, taken = _table_figures(ops, duration, own, recording.table("samples"))
    own = np.maximum(own - taken, 0)
    call_of, call_first = group(
        ops.text("name").codes,
        ops.text("kind").codes,
        ops.text("module").codes,
        ops.text("file").codes,
        ops.array("line"),
    )
    sign_of, sign_first = group(ops.text("name").codes, ops.text("shapes").codes, ops.text("dtypes").codes)
    node_of, node_parent, node_first = prefix_tree(parent, depth, call_of)
    allocated = _allocated(recording, identities, len(ops))
    device = _device_ns(recording, identities, len(ops))
    _add_calls(payload, ops, call_first)
    payload.add(
        "signatures",
        shapes=payload.strings.column(ops.text("shapes").take(sign_first)),
        dtypes=payload.strings.column(ops.text("dtypes").take(sign_first)),
        flops=_mean(ops.array("flops"), sign_of, len(sign_first)),
        bytes=_mean(ops.array("bytes"), sign_of, len(sign_first)),
    )
    payload.add("opnodes", parent=node_parent, call=call_of[node_first] if len(ops) else node_first)
    away = np.minimum(sum_up(parent, taken), duration)
    kept, page_row = _choose(parent, depth, duration, ops, limits.op_rows)
    held = np.zeros(len(kept), np.int64)
    inside = page_row >= 0
    np.add.at(held, page_row[inside], allocated[inside])
    on_device = np.zeros(len(kept), np.int64)
    np.add.at(on_device, page_row[inside], device[inside])
    payload.add(
        "ops",
        thread=ops.array("thread")[kept].astype(np.int64),
        start=ops.array("start_ns")[kept] - origin_ns,
        duration=duration[kept],
        taken=away[kept],
        self=own[kept],
        table_self_extra=extra[kept],
        counts=counts[kept].astype(np.int64),
        node=node_of[kept],
        signature=sign_of[kept],
        allocated=held,
        device=on_device,
    )
    left_out = np.ones(len(ops), np.bool_)
    left_out[kept] = False
    facts = {
        "ops": len(ops),
        "rows": len(kept),
        "pruned_calls": int(left_out.sum()),
        "pruned_self_ns": int(own[left_out].sum()),
        "longest_pruned_ns": int(duration[left_out].max()) if left_out.any() else 0,
    }
    return OpRows(identities, page_row, facts)


def _self_ns(parent: Array, duration: Array, is_async: Array) -> Array:
    """Duration less that of the direct children that ran on the same thread in between."""
    child = (parent >= 0) & ~is_async
    inner = np.zeros(len(parent), np.int64)
    np.add.at(inner, parent[child], duration[child])
    result: Array = np.maximum(duration - inner, 0)
    return result


def _table_figures(ops: Table, duration: Array, own: Array, samples: Table) -> tuple[Array, Array, Array]:
    """Which rows the operator table counts, what their self time there is beyond `own`, and what was taken from each.

    The table follows torch.profiler (`sonde.analyze.ops.table`): wrappers that only call their
    namesake and bookkeeping are no calls, and the time of Python functions or modules inside an
    operator is the operator's. Modules and Python functions keep the time they have in the tree.
    """
    rows, above = counted(ops)
    table_self = duration - sum_children(above, np.where(rows, duration, 0))
    apart = ops.text("kind").matches(("module", "python"))
    taken = taken_from_calls(ops, samples)
    inner = np.zeros(len(ops), np.int64)  # taken from rows that do not count, inside those that do
    moved = ~rows & (above >= 0)
    np.add.at(inner, above[moved], taken[moved])
    return rows | apart, np.where(rows, table_self - own - inner, 0), taken


def _allocated(recording: Recording, identities: Array, count: int) -> Array:
    """Bytes that each op itself allocated (frees not subtracted)."""
    memory = recording.table("memory")
    result = np.zeros(count, np.int64)
    row = rows_of(identities, memory.array("op"))
    grown = (row >= 0) & (memory.array("bytes") > 0)
    np.add.at(result, row[grown], memory.array("bytes")[grown])
    return result


def _device_ns(recording: Recording, identities: Array, count: int) -> Array:
    """Device time of the kernels that each op itself caused."""
    kernels = recording.table("kernels")
    result = np.zeros(count, np.int64)
    row = rows_of(identities, kernels.array("op"))
    known = (row >= 0) & ~kernels.text("kind").matches(("annotation", "sync"))
    lasted = np.maximum(kernels.array("end_ns") - kernels.array("start_ns"), 0)
    np.add.at(result, row[known], lasted[known])
    return result


def _add_calls(payload: Payload, ops: Table, first: Array) -> None:
    chosen = ops.take(first)
    kind = chosen.text("kind")
    recode = np.array([KINDS.index(v) if v in KINDS else 0 for v in kind.values] + [0])
    payload.add(
        "calls",
        name=payload.strings.column(chosen.text("name")),
        kind=recode[kind.codes].astype(np.int64),
        module=payload.strings.column(chosen.text("module")),
        file=payload.strings.column(chosen.text("file")),
        line=chosen.array("line").astype(np.int64),
    )


def _choose(parent: Array, depth: Array, duration: Array, ops: Table, limit: int) -> tuple[Array, Array]:
    """Rows that the page carries, by thread and start; and for each op the page row that stands for it."""
    order = np.lexsort((depth, ops.array("start_ns"), ops.array("thread")))
    keep = np.ones(len(ops), np.bool_)
    if len(ops) > limit:
        keep[:] = False
        keep[np.argpartition(duration, len(ops) - limit)[len(ops) - limit :]] = True
    kept = order[keep[order]]
    page_row = np.full(len(ops), -1, np.int64)
    page_row[kept] = np.arange(len(kept))
    for rows in levels(depth):
        orphan = rows[(page_row[rows] < 0) & (parent[rows] >= 0)]
        page_row[orphan] = page_row[parent[orphan]]
    return kept, page_row


def _mean(values: Array, key: Array, count: int) -> Array:
    """Mean of the known values of each group, NaN where none is known."""
    known = ~np.isnan(values)
    seen = np.bincount(key[known], minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Array = np.bincount(key[known], values[known], count) / seen
    return result
