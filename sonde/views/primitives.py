"""`primitives`: what oneDNN and MKL ran, and which kernels are not good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sonde.analyze.primitives import table as analysis
from sonde.analyze.primitives.implementations import rank_of_effective
from sonde.analyze.primitives.places import shares, with_places
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.columns import Column, matching, rows_from
from sonde.views.options import ShowOptions

GROUPINGS = {
    "shape": ("kind", "implementation", "shape"),
    "kind": ("kind",),
    "implementation": ("kind", "implementation"),
    "op": ("operator", "kind", "implementation"),
    "module": ("module", "kind", "implementation"),
    "line": ("line", "kind", "implementation"),
}


@dataclass(frozen=True)
class PrimitiveRow:
    """Executions of one group; what the rows are not grouped by is null."""

    operator: Annotated[str | None, Column("Operator", meaning="operator that called it")]
    module: Annotated[str | None, Column("Module", meaning="module that called it")]
    line: Annotated[str | None, Column("Line", meaning="FILE:LINE of the program that called it")]
    kind: Annotated[str | None, Column("Kind", meaning="convolution, matmul, reorder, …")]
    implementation: Annotated[str | None, Column("Implementation", meaning="kernel that the library chose")]
    shape: Annotated[str | None, Column("Shape", meaning="problem, as the library prints it")]
    calls: Annotated[int, Column("Calls", "count", "executions")]
    total_ms: Annotated[float, Column("Time", "ms", "time of all executions")]
    flops: Annotated[float | None, Column("FLOPs", "FLOP", "of all executions; null: of some not known")]
    bytes: Annotated[float | None, Column("Bytes", "bytes", "that must be moved; null: of some not known")]


@dataclass(frozen=True)
class WeakKernel:
    """Executions whose kernel is not the best that the machine could run."""

    issue: Annotated[str, Column("Issue", meaning="reference, fallback or isa: an older instruction set")]
    kind: Annotated[str | None, Column("Kind", meaning="convolution, matmul, …")]
    implementation: Annotated[str | None, Column("Implementation", meaning="kernel that the library chose")]
    shape: Annotated[str | None, Column("Shape", meaning="problem, as the library prints it")]
    calls: Annotated[int, Column("Calls", "count", "executions")]
    total_ms: Annotated[float, Column("Time", "ms", "time of all executions")]


@dataclass(frozen=True)
class ReorderRow:
    """Reorders of one class, layout and shape."""

    what: Annotated[str, Column("What", meaning="weights, activations, dtype (a conversion) or other")]
    layouts: Annotated[str | None, Column("Layouts", meaning="source and destination")]
    shape: Annotated[str | None, Column("Shape", meaning="problem, as the library prints it")]
    calls: Annotated[int, Column("Calls", "count", "executions")]
    total_ms: Annotated[float, Column("Time", "ms", "time of all executions")]


@dataclass(frozen=True)
class Primitives:
    """oneDNN and MKL calls, longest first."""

    by: str
    isa: str | None  # effective instruction set, as oneDNN says
    total_ms: float
    joined_share: float | None  # of the time: recorded operator calls are known
    operator_known: dict[str, float]  # shares of the time, by how the operator is known
    rows: list[PrimitiveRow]
    weak: list[WeakKernel]
    reorders: list[ReorderRow]
    creations: list[PrimitiveRow]  # created, not found in a cache
    asked: bool  # the run was to record them


def data(recording: Recording, options: ShowOptions) -> Primitives:
    """`rows` by shape, kind, implementation, op, module or line."""
    by = options.by or "shape"
    if by not in GROUPINGS:
        raise UsageError(f"cannot group primitives by {by!r}", "use one of " + ", ".join(GROUPINGS))
    tables = ("primitives", "ops", "samples", "stacks", "frames")
    primitives = with_places(*(recording.table(name) for name in tables))
    isa = str(recording.meta.details.get("onednn", {}).get("isa", ""))
    rows = rows_from(analysis.summarize(primitives, GROUPINGS[by]), PrimitiveRow)
    work = primitives.take(analysis.executed(primitives))
    total_ms = float(np.nansum(work.array("time_ms")))
    joined_ms = float(np.nansum(work.array("time_ms")[work.array("op") >= 0]))
    return Primitives(
        by=by,
        isa=isa or None,
        total_ms=total_ms,
        joined_share=joined_ms / total_ms if total_ms else None,
        operator_known=shares(work) if _has_operators(recording) else {},
        rows=matching(rows, options.filter, lambda r: " ".join(str(getattr(r, n)) for n in GROUPINGS[by])),
        weak=rows_from(analysis.weak_kernels(primitives, rank_of_effective(isa)), WeakKernel),
        reorders=rows_from(analysis.reorders(primitives), ReorderRow),
        creations=rows_from(analysis.creations(primitives), PrimitiveRow),
        asked=bool(recording.meta.options.get("primitives")),
    )


def _has_operators(recording: Recording) -> bool:
    """Whether anything could name an operator: a log alone cannot, and says nothing about it."""
    return bool(len(recording.table("ops")) or len(recording.table("samples")))
