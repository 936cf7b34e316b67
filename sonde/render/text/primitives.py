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
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

GROUPINGS = {
    "shape": ("kind", "implementation", "shape"),
    "kind": ("kind",),
    "implementation": ("kind", "implementation"),
    "op": ("operator", "kind", "implementation"),
    "module": ("module", "kind", "implementation"),
    "line": ("line", "kind", "implementation"),
}

_EVIDENCE_WORDS = {
    "call": "by recorded calls",
    "sample": "by a sample inside the primitive",
    "alike": "by samples inside others of its shape",
    "unknown": "not known",
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


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows, names = data["rows"], GROUPINGS[data["by"]]
    if not rows:
        page.line("No oneDNN or MKL call was recorded. Record them with: sonde run --primitives script.py")
        return
    columns = [Column(name.capitalize(), fold=True) for name in names]
    columns += [Column(t, right=True) for t in ("Time %", "Time", "Calls", "GFLOP/s")]
    shown = rows[: options.rows()]
    page.table(columns, [_cells(r, names, data["total_ms"]) for r in shown])
    if len(rows) > len(shown):
        page.line(f"{len(rows) - len(shown)} more rows (use --limit)")
    line = f"oneDNN and MKL time: {milliseconds(data['total_ms'])}"
    page.line(line + (f"   effective ISA: {data['isa']}" if data["isa"] else ""))
    known = {name: share for name, share in data["operator_known"].items() if share >= 0.001}
    if known and set(known) != {"call"}:
        page.line(
            f"operators: {', '.join(f'{percent(s)} {_EVIDENCE_WORDS[name]}' for name, s in known.items())}"
        )
    for key, text in (
        ("weak", "kernels that could be better"),
        ("creations", "primitives created, not cached"),
    ):
        if data[key]:
            time_ms = sum(r["total_ms"] for r in data[key])
            page.line(f"{text}: {milliseconds(time_ms)}, most: {_named(data[key][0])}")
    by_class: dict[str, float] = {}
    for row in data["reorders"]:
        by_class[row["class"]] = by_class.get(row["class"], 0.0) + row["total_ms"]
    if by_class:
        words = ", ".join(f"{name} {milliseconds(ms)}" for name, ms in by_class.items())
        page.line(f"reorders: {words}")
    page.next(f"sonde show {options.name} primitives --by {'module' if 'call' in known else 'op'}")


def _rows(table: Table) -> list[dict[str, Any]]:
    columns = {
        name: table.text(name).tolist()
        if isinstance(table.columns[name], Text)
        else table.array(name).tolist()
        for name in table
    }
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in rows]


def _cells(row: dict[str, Any], names: tuple[str, ...], total_ms: float) -> list[str]:
    cells = [str(row[name]) if row[name] is not None else "–" for name in names]
    share = row["total_ms"] / total_ms if total_ms else 0.0
    rate = "–" if not row["flops"] or not row["total_ms"] else f"{row['flops'] / row['total_ms'] / 1e6:.1f}"
    return [*cells, percent(share), milliseconds(row["total_ms"]), count(row["calls"]), rate]


def _named(row: dict[str, Any]) -> str:
    return " ".join(str(row[k]) for k in ("issue", "kind", "implementation", "shape") if row.get(k))
