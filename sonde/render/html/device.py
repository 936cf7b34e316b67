"""GPU kernels and the host calls that launched them → the page, with exact totals by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sonde.analyze.base.grouping import group, rows_of
from sonde.analyze.device.kernel_names import by_name, origin_of, uses_tensor_cores
from sonde.analyze.device.launches import launched_before_trace
from sonde.analyze.device.short_names import short_name
from sonde.columns import Array, Text
from sonde.render.html.gaps import add_gaps
from sonde.render.html.limits import Limits
from sonde.render.html.operators import OpRows
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

# Order is the order of the codes in the page (web/src/data/model.ts).
CLASSES = ("compute", "communication", "copy", "sync", "other")


def add_device(
    payload: Payload, recording: Recording, limits: Limits, origin_ns: int, op_rows: OpRows
) -> dict[str, Any]:
    """Put kernels, launches and kernel totals into the payload; return what was left out."""
    every = recording.table("kernels")
    kernels = every.take(~every.text("kind").equals("annotation"))
    launches = recording.table("launches")
    duration = np.maximum(kernels.array("end_ns") - kernels.array("start_ns"), 0)
    kept = _longest(duration, limits.kernel_rows)
    kept = kept[np.argsort(kernels.array("start_ns")[kept], kind="stable")]
    launch = rows_of(launches.array("launch"), kernels.array("launch"))
    lasted = np.maximum(launches.array("end_ns") - launches.array("start_ns"), 0)
    linked = launch[kept][launch[kept] >= 0]
    chosen = np.union1d(linked, _longest(lasted, limits.kernel_rows))
    chosen = chosen[np.argsort(launches.array("start_ns")[chosen], kind="stable")]
    page_launch = np.full(len(launches) + 1, -1, np.int64)  # the last entry answers for -1
    page_launch[chosen] = np.arange(len(chosen))
    strings = payload.strings
    some = kernels.take(kept)
    payload.add(
        "kernels",
        process=some.array("process").astype(np.int64),
        device=some.array("device").astype(np.int64),
        stream=some.array("stream"),
        start=some.array("start_ns") - origin_ns,
        duration=duration[kept],
        name=strings.column(some.text("name")),
        short=_short(payload, some.text("name")),
        work=_class_codes(some.text("class")),
        op=op_rows.find(some.array("op")),
        launch=page_launch[launch[kept]],
        bytes=some.array("bytes"),
        grid=strings.column(some.text("grid")),
        block=strings.column(some.text("block")),
        registers=some.array("registers").astype(np.int64),
        shared=some.array("shared_bytes").astype(np.int64),
        occupancy=some.array("occupancy"),
    )
    held = launches.take(chosen)
    payload.add(
        "launches",
        thread=held.array("thread").astype(np.int64),
        start=held.array("start_ns") - origin_ns,
        duration=lasted[chosen],
        name=strings.column(held.text("name")),
        kind=strings.column(held.text("kind")),
    )
    key, first = group(kernels.text("name").codes, kernels.array("device"), kernels.text("class").codes)
    summed = np.zeros(len(first), np.int64)
    np.add.at(summed, key, duration)
    longest = np.zeros(len(first), np.int64)
    np.maximum.at(longest, key, duration)
    top = np.argsort(-summed, kind="stable")[: limits.table_rows]
    payload.add(
        "kerneltotals",
        name=strings.column(kernels.text("name").take(first[top])),
        short=_short(payload, kernels.text("name").take(first[top])),
        origin=_told(payload, kernels.text("name").take(first[top]), origin_of),
        tensor=by_name(kernels.text("name").take(first[top]), uses_tensor_cores).astype(np.int64),
        device=kernels.array("device")[first[top]].astype(np.int64),
        work=_class_codes(kernels.text("class").take(first[top])),
        calls=np.bincount(key, minlength=len(first))[top],
        total=summed[top],
        longest=longest[top],
        occupancy=_mean_known(kernels.array("occupancy"), key, len(first))[top],
    )
    add_gaps(payload, every, kernels, launches, kept, origin_ns)
    worked = kernels.text("kind").matches(("kernel", "memcpy", "memset"))
    old = int(launched_before_trace(every, launches).sum())
    return {
        "kernels": len(kernels),
        "rows": len(kept),
        "pruned": len(kernels) - len(kept),
        "before_trace": old,
        "without_launch": int((worked & (kernels.array("launch") < 0)).sum()) - old,
    }


def _short(payload: Payload, names: Text) -> Array:
    return _told(payload, names, short_name)


def _told(payload: Payload, names: Text, tell: Callable[[str], str]) -> Array:
    """Codes of what is told of each name, asked once per distinct name that a row has."""
    recode = np.full(len(names.values) + 1, -1, np.int64)
    for used in np.unique(names.codes):
        if used >= 0:
            recode[used] = payload.strings(tell(names.values[used]))
    result: Array = recode[names.codes]
    return result


def _longest(duration: Array, limit: int) -> Array:
    if len(duration) <= limit:
        return np.arange(len(duration))
    return np.argpartition(duration, len(duration) - limit)[len(duration) - limit :]


def _class_codes(column: Text) -> Array:
    other = CLASSES.index("other")
    recode = np.array([CLASSES.index(v) if v in CLASSES else other for v in column.values] + [other])
    result: Array = recode[column.codes].astype(np.int64)
    return result


def _mean_known(values: Array, key: Array, count: int) -> Array:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Array = np.bincount(key[known], values[known], count) / np.bincount(
            key[known], minlength=count
        )
    return result
