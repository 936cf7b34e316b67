"""Operator calls that were timed while oneDNN and MKL printed each of theirs (`--primitives`): set apart.

Printing makes every operator that calls these libraries slower. So where the same process has a profiling window
without it, the calls of a printing window get the kind `printed`: primitives keep their links to them, and no table of
times counts them. Where every window printed, they stay as they are, and the first lines say so
(`sonde.analyze.recording.notes`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.ops.table import KINDS, PRINTED
from sonde.columns import Table, Text


def with_printed_calls(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`ops` and `marks` in which such calls and windows are called so."""
    if not all(len(tables.get(name, ())) for name in ("marks", "ops", "threads")):
        return {}
    marks, ops, threads = tables["marks"], tables["ops"], tables["threads"]
    is_window = marks.text("kind").equals("window")
    captures = is_window & marks.text("name").equals("primitives")
    if not captures.any():
        return {}
    process_of = dict(zip(threads.array("thread").tolist(), threads.array("process").tolist(), strict=True))
    process = np.array([process_of.get(t, -1) for t in ops.array("thread").tolist()], np.int64)
    begin = ops.array("start_ns")
    kinds, names = ops.text("kind").tolist(), marks.text("name").tolist()
    changed = False
    for number in np.unique(marks.array("process")[captures]).tolist():
        own = captures & (marks.array("process") == number)
        spans = union(marks.array("start_ns")[own], marks.array("end_ns")[own])
        mine = (process == number) & ops.text("kind").matches(KINDS)
        printed = spans.within(begin, begin + 1) > 0
        if not (mine & ~printed).any():
            continue
        changed = True
        for row in np.flatnonzero(mine & printed).tolist():
            kinds[row] = PRINTED
        windows = is_window & ~captures & (marks.array("process") == number)
        beside = spans.within(marks.array("start_ns"), marks.array("end_ns")) > 0
        for row in np.flatnonzero(windows & beside).tolist():
            names[row] = PRINTED
    if not changed:
        return {}
    return {
        "ops": ops.with_columns(kind=Text.of(kinds)),
        "marks": marks.with_columns(name=Text.of(names)),
    }
