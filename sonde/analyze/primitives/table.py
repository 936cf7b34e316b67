"""oneDNN and MKL calls: totals, and which kernels are not good.

Enters: the table `primitives`.
Leaves: tables sorted by time. Only executions count as time spent; creations
have their own view, and a graph partition's line repeats the primitives that
ran inside it, so it is kept out of totals.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.primitives.implementations import isa_rank
from sonde.columns import Array, Column, Table, Text


def executed(primitives: Table) -> Array:
    """Mask of the rows that are work done: executions, without graph partitions."""
    event, kind = primitives.text("event"), primitives.text("kind")
    runs = [e for e in event.values if e == "exec" or e.startswith("exec:")]
    graphs = [k for k in kind.values if k.startswith("graph:")]
    return np.asarray(event.matches(runs) & ~kind.matches(graphs))


def summarize(primitives: Table, by: tuple[str, ...] = ("kind", "implementation", "shape")) -> Table:
    """Calls, time, FLOPs and bytes by the text columns `by`, longest first.

    FLOPs and bytes are NaN for a group in which one is unknown.
    """
    rows = primitives.take(executed(primitives))
    key, first = _group(rows, by)
    count = len(first)
    total = np.bincount(key, np.nan_to_num(rows.array("time_ms")), count)
    order = np.argsort(-total, kind="stable")
    columns: dict[str, Column] = {name: rows.text(name).take(first[order]) for name in by}
    columns["calls"] = np.bincount(key, minlength=count)[order]
    columns["total_ms"] = total[order]
    for name in ("flops", "bytes"):
        columns[name] = np.bincount(key, rows.array(name), count)[order]
    return Table("primitive_summary", columns)


def weak_kernels(primitives: Table, machine_rank: int = 0) -> Table:
    """Executions whose kernel is not the best the machine could run, longest first.

    `issue` is reference, fallback, or isa: the instruction set in the name ranks below
    `machine_rank` (0 when it is not known: then nothing is said about it).
    """
    rows = primitives.take(executed(primitives))
    quality, isa = rows.text("quality"), rows.text("isa")
    ranks = np.array([isa_rank(value) for value in isa.values] + [0])[isa.codes]
    low = (ranks > 0) & (ranks < machine_rank)
    issue = np.full(len(rows), 3)
    issue[low] = 2
    issue[quality.equals("fallback")] = 1
    issue[quality.equals("reference")] = 0
    names = Text(issue.astype(np.int32), ["reference", "fallback", "isa", ""])
    weak = rows.with_columns(issue=names).take(issue < 3)
    table = summarize(weak, ("issue", "kind", "implementation", "shape"))
    return Table("weak_kernels", table.columns)


def reorders(primitives: Table) -> Table:
    """Time in reorders by class: weights, activations, dtype (a conversion) or other, longest first."""
    rows = primitives.take(executed(primitives) & primitives.text("kind").equals("reorder"))
    layouts = rows.text("layouts")
    classes = ["weights", "activations", "dtype", "other"]
    of_value = [classes.index(reorder_class(value)) for value in layouts.values]
    codes = np.array([*of_value, 3], np.int32)[layouts.codes]
    table = summarize(rows.with_columns(what=Text(codes, classes)), ("what", "layouts", "shape"))
    return Table("reorders", table.columns)


def reorder_class(layouts: str) -> str:
    """By its two descriptors: a changed type, or a side blocked as weights or as activations are."""
    from sonde.analyze.primitives.descriptors import parse

    sides = [d for d in parse(layouts) if d is not None and d.present]
    if len(sides) != 2:
        return "other"
    types = {side.data_type for side in sides}
    if len(types) == 2 and None not in types:
        return "dtype"
    tags = [side.layout for side in sides]
    # Output channels blocked (dimension a, or O) only ever in weights.
    if any("A" in tag or "O" in tag for tag in tags):
        return "weights"
    if any("B" in tag or "C" in tag for tag in tags):
        return "activations"
    return "other"


def creations(primitives: Table) -> Table:
    """Primitives created (not found in a cache): in steady state each is a cost that repeats."""
    event = primitives.text("event")
    made = [e for e in event.values if e.startswith(("create", "compile")) and not e.endswith("cache_hit")]
    made = [e for e in made if not e.startswith("create_nested")]
    rows = primitives.take(np.asarray(event.matches(made)))
    rows = rows.with_columns(event=Text.full(len(rows), "exec"))  # let them pass as work done
    table = summarize(rows, ("kind", "implementation", "shape"))
    return Table("creations", table.columns)


def _group(table: Table, by: tuple[str, ...]) -> tuple[Array, Array]:
    """Group number of each row, and the first row of each group."""
    if not len(table):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = np.stack([table.text(name).codes for name in by])
    _, first, key = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    return key.reshape(-1), first
