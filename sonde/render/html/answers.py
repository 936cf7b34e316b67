"""The answers of the views → the page: the same figures that `sonde show` prints, computed once.

Rows of views that have many (`TABULAR`) are columns of numbers and string codes (times in ns), `answer.VIEW` or
`answer.ops.GROUPING`; the rest of an answer, and other views, are small facts. web/src/data/answers.ts has their
types, made from the same declarations (`sonde.views.typescript`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.analyze.ops.table import GROUPINGS
from sonde.columns import Array, Text
from sonde.errors import SondeError
from sonde.render.html.facts import plain as safe
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.columns import Declared
from sonde.views.options import ShowOptions
from sonde.views.tabular import view_columns
from sonde.views.typescript import PAGE_VIEWS, TABULAR

MAX_ROWS = {"ops": 5000, "steps": 20_000}  # of one table; views put the largest first
OTHERWISE = 2000


def add_answers(payload: Payload, recording: Recording) -> None:
    """Put every answer into the payload."""
    answers: dict[str, Any] = {}
    for name in PAGE_VIEWS:
        if name != "ops":
            answers[name] = _add(payload, name, f"answer.{name}", recording, ShowOptions(whole=True))
            continue
        groupings = GROUPINGS if len(recording.table("ops")) else GROUPINGS[:1]
        answers[name] = {
            by: _add(payload, name, f"answer.{name}.{by}", recording, ShowOptions(by=by)) for by in groupings
        }
    payload.facts["answers"] = answers


def _add(payload: Payload, name: str, table: str, recording: Recording, options: ShowOptions) -> Any:
    view = VIEWS[name]
    try:
        answer = view.answer(recording, options)
    except (SondeError, IndexError):  # a damaged table: the page says nothing here and shows the rest
        return None
    if name not in TABULAR:
        return safe(answer, most=OTHERWISE)
    rows = getattr(answer, view.rows)
    kept = rows[: MAX_ROWS.get(name, OTHERWISE)]
    payload.add(table, **{c.key: _column(payload, c, kept) for c in view_columns(name)})
    facts = {f.name: safe(getattr(answer, f.name)) for f in dataclasses.fields(answer) if f.name != view.rows}
    return {**facts, "not_carried": len(rows) - len(kept)}


def _column(payload: Payload, column: Declared, rows: Sequence[Any]) -> Array:
    values = [getattr(row, column.key) for row in rows]
    if column.kind == "text":
        return payload.strings.column(Text.of(values))
    if any(value is None for value in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    numbers = np.array(values, np.float64 if column.kind == "number" else np.int64)
    # Milliseconds are nanoseconds in integers: a third of the size, and the same number when it is divided again.
    exact = (
        column.said.unit == "ms"
        and np.isfinite(numbers).all()
        and np.abs(numbers).max(initial=0.0) < 2**52 / 1e6
    )
    return np.rint(numbers * 1e6).astype(np.int64) if exact else numbers
