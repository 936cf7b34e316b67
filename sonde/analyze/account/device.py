"""The account of a device: its time from first to last event, divided into who × kind of work or cause of idling.

In: the tables of a trace. Out: an `Account` of the device that is busy longest. Each moment belongs to the event that
began first among those that run, so the events' parts sum to the busy time; a gap belongs to the event that
ends it, by the cause of the gap (`sonde.analyze.device.idle`). So the slices sum to the whole.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.account.kinds import CODES, KINDS, NAMES, operator_kind
from sonde.analyze.account.places import Place
from sonde.analyze.account.slices import Account, Slice
from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.intervals import union
from sonde.analyze.device.events import Work, device_work
from sonde.analyze.device.idle import at_the_edges, causes, gaps, sync_spans
from sonde.analyze.device.kernel_names import COMMUNICATION, COPY, by_name
from sonde.analyze.steps.breakdown import is_data_loading
from sonde.columns import Array, Table

_MATH = re.compile(r"(?i)gemm|conv|mma|flash|attention|fmha|cutlass|winograd|nvjet|matmul|Cijk_")


def device_account(kernels: Table, launches: Table, ops: Table, unit: str, units: int) -> Account:
    """Divide the time of the busiest device; without device events the account is empty."""
    work = device_work(kernels, launches)
    chosen = max(work.devices(), key=lambda at: int(work.on(*at).spans().total_ns), default=None)
    if chosen is None:
        return Account(unit, max(units, 1), 0.0, (), 0)
    work = work.on(*chosen)
    reach = np.maximum.accumulate(work.end)
    before = np.concatenate(([work.start[0]], reach[:-1]))
    part = np.maximum(work.end - np.maximum(work.start, before), 0).astype(np.float64)
    call = rows_of(ops.array("op"), work.op)
    found = gaps(work)
    event = np.concatenate((np.arange(len(work)), found.event))
    kind = np.concatenate((_work_kinds(work, call, ops), _gap_kinds(work, launches, ops)))
    time = np.concatenate((part, (found.end - found.start).astype(np.float64)))
    places, of_event = _places(work, call, ops)
    return _account(places, of_event[event], kind, time, unit, max(units, 1))


def _account(places: list[Place], place: Array, kind: Array, time: Array, unit: str, units: int) -> Account:
    count, whole = len(KINDS), float(time.sum())
    cell = place * count + kind
    ns = np.bincount(cell, time, len(places) * count)
    looks = np.bincount(cell, minlength=len(places) * count)
    slices = [
        Slice(
            places[at // count],
            NAMES[at % count],
            float(ns[at]) / units,
            float(ns[at]) / max(whole, 1.0),
            0.0,
            int(looks[at]),
        )
        for at in np.flatnonzero(ns > 0).tolist()
    ]
    slices.sort(key=lambda s: (-s.ns, s.place.file, s.place.line, s.place.function, s.kind))
    return Account(unit, units, whole / units, tuple(slices), len(time))


def _work_kinds(work: Work, call: Array, ops: Table) -> Array:
    of_name = [CODES[operator_kind(v)] for v in ops.text("name").values] + [-1]
    named = np.array(of_name, np.int64)[np.append(ops.text("name").codes, -1)[call]]
    math = by_name(work.name, lambda n: bool(_MATH.search(n)))
    by_kernel = np.where(math, CODES["arithmetic"], CODES["memory"])
    kind = np.where((call >= 0) & (named != CODES["arithmetic"]) & ~math, named, by_kernel)
    kind[work.kind_class == COPY] = CODES["copies"]
    kind[work.kind_class == COMMUNICATION] = CODES["communication"]
    return np.asarray(kind, np.int64)


def _gap_kinds(work: Work, launches: Table, ops: Table) -> Array:
    """loading, waiting for the device, dispatch of the host or of the queue; the edges of the trace are apart."""
    found = gaps(work)
    host, kernel, _ = causes(work, found)
    kind = np.full(len(found.start), CODES["waiting"], np.int64)
    kind[host | kernel] = CODES["dispatch"]
    length = np.maximum(found.end - found.start, 1)
    for spans in sync_spans(launches).values():
        kind[host & (spans.within(found.start, found.end) > 0.5 * length)] = CODES["waiting"]
    loading = by_name(ops.text("name"), is_data_loading)
    spans = union(ops.array("start_ns")[loading], ops.array("end_ns")[loading])
    kind[spans.within(found.start, found.end) > 0.5 * length] = CODES["loading"]
    kind[at_the_edges(found, len(work)) & host] = CODES["unseen"]
    return kind


def _places(work: Work, call: Array, ops: Table) -> tuple[list[Place], Array]:
    """Who caused each event: the user's line of its operator, else the operator, else the kernel's own name."""
    file = np.append(ops.text("file").codes, -1)[call].astype(np.int64)
    line = np.append(ops.array("line"), -1)[call].astype(np.int64)
    name = np.append(ops.text("name").codes, -1)[call].astype(np.int64)
    known = file >= 0
    kernel = np.where(call >= 0, -1, work.name.codes).astype(np.int64)
    keys = np.stack((file, np.where(known, line, -1), np.where(known, -1, name), kernel), axis=1)
    distinct, of_event = np.unique(keys, axis=0, return_inverse=True)
    places = []
    for f, n, o, k in distinct.tolist():
        if f >= 0:
            path = ops.text("file").values[f]
            places.append(Place(path, n, path.rpartition("/")[2]))
        else:
            name_of = ops.text("name").values[o] if o >= 0 else work.name.values[k] if k >= 0 else ""
            places.append(Place("", -1, name_of))
    return places, of_event.reshape(-1).astype(np.int64)
