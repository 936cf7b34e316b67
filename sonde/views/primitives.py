"""`sonde show REC primitives`: what oneDNN and MKL ran, and which kernels are not good."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from sonde.analyze.primitives import table as analysis
from sonde.analyze.primitives.implementations import rank_of_effective
from sonde.analyze.primitives.places import shares, with_places
from sonde.columns import Table, Text
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

GROUPINGS = {
    "shape": ("kind", "implementation", "shape"),
    "kind": ("kind",),
    "implementation": ("kind", "implementation"),
    "op": ("operator", "kind", "implementation"),
    "module": ("module", "kind", "implementation"),
    "line": ("line", "kind", "implementation"),
}


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`rows` by shape, kind, implementation, op, module or line; `weak`, `reorders`, `creations`; `total_ms`;
    `operator_known`: shares of the time by how the operator is known.
    """
    by = options.by or "shape"
    if by not in GROUPINGS:
        raise UsageError(f"cannot group primitives by {by!r}", "use one of " + ", ".join(GROUPINGS))
    tables = ("primitives", "ops", "samples", "stacks", "frames")
    primitives = with_places(*(recording.table(name) for name in tables))
    isa = str(recording.meta.details.get("onednn", {}).get("isa", ""))
    rows = _rows(analysis.summarize(primitives, GROUPINGS[by]))
    if options.filter:
        try:
            pattern = re.compile(options.filter)
        except re.error as error:
            raise UsageError(f"--filter {options.filter!r} is not a regular expression: {error}") from None
        rows = [r for r in rows if pattern.search(" ".join(str(r[name]) for name in GROUPINGS[by]))]
    work = primitives.take(analysis.executed(primitives))
    total_ms = float(np.nansum(work.array("time_ms")))
    joined_ms = float(np.nansum(work.array("time_ms")[work.array("op") >= 0]))
    return {
        "by": by,
        "isa": isa or None,
        "total_ms": total_ms,
        "joined_share": joined_ms / total_ms if total_ms else None,
        "operator_known": shares(work) if _has_operators(recording) else {},
        "rows": rows,
        "weak": _rows(analysis.weak_kernels(primitives, rank_of_effective(isa))),
        "reorders": _rows(analysis.reorders(primitives)),
        "creations": _rows(analysis.creations(primitives)),
    }


def _has_operators(recording: Recording) -> bool:
    """Whether anything could name an operator: a log alone cannot, and says nothing about it."""
    return bool(len(recording.table("ops")) or len(recording.table("samples")))


def _rows(table: Table) -> list[dict[str, Any]]:
    columns = {
        name: table.text(name).tolist()
        if isinstance(table.columns[name], Text)
        else table.array(name).tolist()
        for name in table
    }
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in rows]
