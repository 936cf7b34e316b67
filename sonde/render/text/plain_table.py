"""A view's rows as a table, by what its columns declare: for views that need no page of their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, nanoseconds, percent, size
from sonde.views import VIEWS
from sonde.views.columns import columns_of, row_type_of
from sonde.views.options import ShowOptions

_WRITERS: dict[str, Callable[[float], str]] = {
    "ms": milliseconds, "ns": nanoseconds, "bytes": size, "count": count, "share": percent, "FLOP": count,
}  # fmt: skip


def show_rows(name: str, data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    """Print the rows of a view; unknown values are dashes."""
    view = VIEWS[name]
    columns = columns_of(row_type_of(importlib.import_module(view.module).data, view.rows))
    rows = data[view.rows]
    if not rows:
        page.line("Nothing to show: this recording has no rows for this view.")
        return
    shown = rows[: options.rows()]
    page.table(
        [Column(c.said.title, right=c.kind != "text", fold=c.kind == "text") for c in columns],
        [[cell(row[c.key], c.said.unit) for c in columns] for row in shown],
    )
    if len(rows) > len(shown):
        page.line(f"{len(rows) - len(shown)} more rows (use --limit)")


def cell(value: Any, unit: str) -> str:
    """A value with its unit."""
    if value is None:
        return "–"
    return _WRITERS[unit](value) if unit in _WRITERS else str(value)
