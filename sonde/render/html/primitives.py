"""oneDNN and MKL calls → the page: totals by kind, implementation and problem, and the calls with their times."""

from __future__ import annotations

import math

import numpy as np

from sonde.analyze.base.grouping import group
from sonde.columns import Array, Table
from sonde.errors import SondeError
from sonde.insights.roof import roof_of
from sonde.insights.subject import Subject
from sonde.render.html.limits import Limits
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

_TEXT = (
    "library",
    "event",
    "engine",
    "kind",
    "implementation",
    "isa",
    "quality",
    "direction",
    "layouts",
    "dtypes",
    "post_ops",
    "auxiliary",
    "shape",
)


def add_primitives(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> None:
    """Put the totals into the payload, largest first; `origin_ns` is the zero of the page's times."""
    primitives = recording.table("primitives")
    key, first = group(*(primitives.text(name).codes for name in _TEXT))
    count = len(first)
    time_ms = _sum(primitives.array("time_ms"), key, count)
    top = np.argsort(-time_ms, kind="stable")[: limits.table_rows]
    chosen = primitives.take(first[top])
    payload.add(
        "primitives",
        calls=np.bincount(key, minlength=count)[top],
        time_ms=time_ms[top],
        flops=_sum(primitives.array("flops"), key, count)[top],
        bytes=_sum(primitives.array("bytes"), key, count)[top],
        **{name: payload.strings.column(chosen.text(name)) for name in _TEXT},
    )
    _add_calls(payload, primitives, key, top, limits, origin_ns)
    payload.facts["primitives"] = {
        "calls": len(primitives),
        "groups": count,
        "time_ms": float(time_ms.sum()),
    }
    payload.facts["roof"] = _roof(recording)


def _add_calls(
    payload: Payload, primitives: Table, key: Array, top: Array, limits: Limits, origin_ns: int
) -> None:
    """Single calls, so that a selected range has its own totals: all of them, or none.

    All calls of a group are of one problem, so its FLOPs and bytes are shared out by count.
    """
    start = primitives.array("start_ns")
    if not len(start) or (start < 0).any() or len(start) > limits.op_rows or len(top) < key.max() + 1:
        return
    group_of = np.empty(len(top), np.int64)
    group_of[top] = np.arange(len(top))
    payload.add(
        "primitivecalls",
        group=group_of[key],
        start=start - origin_ns,
        duration=(np.nan_to_num(primitives.array("time_ms")) * 1e6).astype(np.int64),
    )


def _roof(recording: Recording) -> dict[str, float] | None:
    """Peak and memory bandwidth that were measured where it was recorded; never those of another machine."""
    try:
        roof, _ = roof_of(Subject(recording))
    except SondeError:
        return None
    if not roof.levels or math.isnan(roof.peak("f32")):
        return None
    return {"peak": roof.peak("f32"), "bandwidth": roof.levels[-1].bytes_per_s, "threads": roof.threads}


def _sum(values: Array, key: Array, count: int) -> Array:
    """Sum by group; NaN for a group that has an unknown value."""
    result: Array = np.bincount(key, values, count) if len(key) else np.zeros(count)
    return result
