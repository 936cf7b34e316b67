"""What was taken from a window's thread, as the window itself counted it: exact for the window, where a look says only
how much was taken in about a tenth of a second.

In: preempted waits and marks of windows. Out: the same waits, those that reach over a window's edge split there. Their
sum stays; looks that lie within the window are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde import json_text
from sonde.analyze.recording.taken_away import pieces_of
from sonde.columns import Array, Table
from sonde.store import build


def with_taken_in_windows(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`samples` with the time taken within each window at its place."""
    if not all(len(tables.get(name, ())) for name in ("samples", "marks")):
        return {}
    samples, marks = tables["samples"], tables["marks"]
    before = samples
    windows = marks.take(marks.text("kind").equals("window"))
    for thread, start, end, extra in zip(
        windows.array("thread").tolist(),
        windows.array("start_ns").tolist(),
        windows.array("end_ns").tolist(),
        windows.text("extra").tolist(),
        strict=True,
    ):
        share = json_text.object_of(extra).get("taken_share")
        if thread >= 0 and end > start and isinstance(share, int | float) and 0 <= share <= 1:
            samples = _split(samples, thread, start, end, share * (end - start))
    return {} if samples is before else {"samples": samples}


def _split(samples: Table, thread: int, start: int, end: int, known_ns: float) -> Table:
    """The waits of one thread with `known_ns` of them in a window."""
    pieces = pieces_of(samples, thread)
    inside = np.minimum(pieces.end, end) - np.maximum(pieces.start, start)
    edge = (inside > 0) & ((pieces.start < start) | (pieces.end > end))
    if not edge.any():
        return samples
    left_ns = known_ns - float(pieces.weight[(inside > 0) & ~edge].sum())
    begin, finish, weight, inside = (a[edge] for a in (pieces.start, pieces.end, pieces.weight, inside))
    likely = weight * (inside / (finish - begin))
    within = np.clip(left_ns * likely / max(float(likely.sum()), 1.0), 0, np.minimum(weight, inside))
    rows = _rows_of(samples, thread, begin)
    place, time, parts = [], [], []
    for row, first, last, whole, part in zip(
        rows.tolist(), begin.tolist(), finish.tolist(), weight.tolist(), within.tolist(), strict=True
    ):
        early, late = max(start - first, 0), max(last - end, 0)
        rest = whole - round(part)
        ahead = round(rest * early / max(early + late, 1))
        for at, ns, there in (
            (first, ahead, early),
            (max(first, start), round(part), 1),
            (end, rest - ahead, late),
            (last, 0, late),  # where the look ended
        ):
            if there:
                place.append(row)
                time.append(at)
                parts.append(ns)
    gone = _preempted(samples, thread) & np.isin(samples.array("time_ns"), begin)
    copied = np.array(place, np.int64)
    added = samples.take(copied).with_columns(
        time_ns=np.array(time, np.int64), weight_ns=np.array(parts, np.int64)
    )
    order = np.argsort(np.concatenate((np.flatnonzero(~gone), copied)), kind="stable")
    return build.concat("samples", [samples.take(np.flatnonzero(~gone)), added]).take(order)


def _preempted(samples: Table, thread: int) -> Array:
    found: Array = (
        (samples.array("thread") == thread)
        & samples.text("state").equals("waiting")
        & samples.text("reason").equals("preempted")
    )
    return found


def _rows_of(samples: Table, thread: int, times: Array) -> Array:
    """A row of each look, to copy what is the same for its parts."""
    rows = np.flatnonzero(_preempted(samples, thread))
    rows = rows[np.argsort(samples.array("time_ns")[rows], kind="stable")]
    found: Array = rows[np.searchsorted(samples.array("time_ns")[rows], times)]
    return found
