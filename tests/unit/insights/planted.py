"""Recordings with a planted cause: the synthetic run with further marks, settings and surroundings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sonde.columns import Table
from sonde.insights.engine import Report
from sonde.insights.model import Insight
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.synthetic import training_run


def planted(marks: Table | None = None, tables: dict[str, Table] | None = None, **meta: Any) -> Recording:
    """The synthetic run with further marks, tables in place of its own, and changed meta."""
    run = training_run()
    tables = {**{t.name: t for t in run.tables()}, **(tables or {})}
    if marks is not None:
        tables["marks"] = build.concat("marks", [tables["marks"], marks])
    return Recording(replace(run.meta, **meta), tables)


def mark(kind: str, starts: list[int], length_ns: int, name: str = "", **more: Any) -> Table:
    count = len(starts)
    return build.table(
        "marks",
        mark=list(range(900, 900 + count)),
        process=[0] * count,
        thread=[0] * count,
        kind=[kind] * count,
        name=[name] * count,
        start_ns=starts,
        end_ns=[s + length_ns for s in starts],
        **{column: [value] * count for column, value in more.items()},
    )


def settings(**values: Any) -> Table:
    return mark("settings", [0], 0, extra=json.dumps(values))


def said(report: Report, rule: str) -> Insight | None:
    assert report.failed == {}
    return next((i for i in report.insights if i.rule == rule), None)
