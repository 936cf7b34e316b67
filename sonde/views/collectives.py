"""`collectives`: what ranks exchanged, how long each call waited for its last rank and how long the data took.

A row is all calls of one kind, size, group and line; with `--by rank`, of one rank. Times are means per call and rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.ranks.job import Job
from sonde.analyze.ranks.shared import group_keys, rank_of_rows
from sonde.columns import Array, Table
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.columns import Column, matching, ordered
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class CollectiveRow:
    """Calls that are alike."""

    kind: Annotated[str, Column("kind", meaning="all_reduce, all_gather, …, send, receive")]
    rank: Annotated[int | None, Column("rank", meaning="with --by rank: whose calls")]
    group: Annotated[str | None, Column("group", meaning="name of the process group, and what it is for")]
    bytes: Annotated[int | None, Column("size", "bytes", "input of one rank, of one call")]
    dtype: Annotated[str | None, Column("type", meaning="type of the elements")]
    calls: Annotated[int, Column("calls", "count", "calls, each rank's counted")]
    per_step: Annotated[float | None, Column("per step", meaning="calls of one rank in a step")]
    queue_ms: Annotated[float | None, Column("queued", "ms", "from the call to the backend's start")]
    total_ms: Annotated[float | None, Column("time", "ms", "from the call to its end")]
    waiting_ms: Annotated[float | None, Column("waiting", "ms", "of that: for the last rank to come")]
    transfer_ms: Annotated[float | None, Column("transfer", "ms", "of that: after the last rank had come")]
    exposed_ms: Annotated[
        float | None, Column("exposed", "ms", "of that: the calling thread did nothing else")
    ]
    bandwidth_gbs: Annotated[float | None, Column("GB/s", meaning="size over transfer (algorithm bandwidth)")]
    last_rank: Annotated[int | None, Column("last", meaning="the rank that most often came last")]
    last_share: Annotated[float | None, Column("of calls", "share", "in how many of them")]
    unfinished: Annotated[int, Column("open", "count", "calls that never ended")]
    file: Annotated[str | None, Column("file", meaning="file of the line that asked", sortable=False)]
    line: Annotated[int | None, Column("line", meaning="that line")]


@dataclass(frozen=True)
class CollectivesAnswer:
    """Sums are per step and rank, of the steps that all ranks made."""

    calls: int
    ranks: int
    shared: int  # matched across ranks
    unfinished: int
    mismatched: int
    per_step_waiting_ms: float | None
    per_step_transfer_ms: float | None
    per_step_exposed_ms: float | None
    rows: list[CollectiveRow]


def data(recording: Recording, options: ShowOptions) -> CollectivesAnswer:
    """Rows by time."""
    if options.by not in (None, "rank"):
        raise UsageError(f"--by {options.by!r} is not known here", "use --by rank")
    job = Job(recording.table)
    calls = recording.table("collectives")
    rank = rank_of_rows(calls, recording.table("processes"))
    waiting, transfer, last = _split(job, len(calls))
    exposed = exposed_ns(calls, recording.table("samples"))
    names = _group_names(recording)
    keys: dict[tuple[object, ...], list[int]] = {}
    columns = (
        calls.text("kind").tolist(),
        calls.array("group").tolist(),
        calls.array("bytes").tolist(),
        calls.text("dtype").tolist(),
        calls.text("file").tolist(),
        calls.array("line").tolist(),
        rank.tolist() if options.by == "rank" else [-1] * len(calls),
    )
    for row, (kind, group, size, dtype, file, line, who) in enumerate(zip(*columns, strict=True)):
        keys.setdefault((kind, names.get(group), size, dtype, file, line, who), []).append(row)
    rows = [
        _row(key, np.array(members), calls, rank, waiting, transfer, last, exposed, job)
        for key, members in keys.items()
    ]
    rows = matching(rows, options.filter, lambda r: f"{r.kind} {r.group or ''} {r.file or ''}")
    found = job.lateness
    inside = np.flatnonzero(found.step_of_call >= 0)
    which = job.shared.row[:, inside]
    which = which[which >= 0]
    units = max(len(found.steps) * max(len(job.shared.ranks), 1), 1)
    steps = len(found.steps) > 0
    return CollectivesAnswer(
        len(calls),
        len({r for r in rank.tolist() if r >= 0}),
        len(job.shared),
        job.shared.unfinished,
        job.shared.mismatched,
        float(np.nansum(waiting[which])) / units / 1e6 if steps else None,
        float(np.nansum(transfer[which])) / units / 1e6 if steps else None,
        float(exposed[which].sum()) / units / 1e6 if steps else None,
        sorted(rows, key=lambda r: -(r.total_ms or 0) * r.calls)
        if options.sort is None
        else ordered(rows, CollectiveRow, options.sort, "calls"),
    )


def _split(job: Job, count: int) -> tuple[Array, Array, Array]:
    """Waiting and transfer of each row of `collectives` (nan: not matched), and the rank that came last (-1)."""
    shared = job.shared
    waiting, transfer = np.full(count, np.nan), np.full(count, np.nan)
    last = np.full(count, -1, np.int64)
    ranks = np.array([*shared.ranks, -1])
    wait, move, who = (
        shared.waiting_ns,
        shared.transfer_ns,
        ranks[shared.last] if len(shared) else np.zeros(0),
    )
    for row in range(len(shared.ranks)):
        member = np.flatnonzero(shared.row[row] >= 0)
        at = shared.row[row, member]
        # A source that need not wait may leave before the last has come: then all of its time is its own.
        total = shared.end[row, member] - shared.queued[row, member]
        waiting[at] = np.minimum(wait[row, member], total)
        transfer[at] = np.maximum(move[row, member], 0)
        last[at] = who[member]
    return waiting, transfer, last


def exposed_ns(calls: Table, samples: Table) -> Array:
    """Of each call the time in which its thread waited: its wait() where the agent saw one, else sampled waits."""
    found = np.zeros(len(calls), np.float64)
    thread, begin, end = calls.array("thread"), calls.array("queued_ns"), calls.array("end_ns")
    waited = calls.array("waited_ns")
    waits = samples.take(
        samples.text("state").equals("waiting") & ~samples.text("reason").equals("preempted")
    )
    for number in np.unique(thread).tolist():
        mine = waits.take(np.flatnonzero(waits.array("thread") == number))
        start = mine.array("time_ns")
        spans = union(start, start + np.maximum(mine.array("weight_ns"), 0))
        rows = np.flatnonzero((thread == number) & (end > 0))
        found[rows] = spans.within(begin[rows], end[rows])
    total = np.maximum(end - begin, 0)
    known = (waited >= 0) & (end > 0)
    exposed: Array = np.minimum(np.where(known, np.maximum(waited, found), found), total)
    return exposed


def _row(
    key: tuple[object, ...],
    rows: Array,
    calls: Table,
    rank: Array,
    waiting: Array,
    transfer: Array,
    last: Array,
    exposed: Array,
    job: Job,
) -> CollectiveRow:
    kind, group, size, dtype, file, line, who = key
    begin, start, end = (calls.array(n)[rows] for n in ("queued_ns", "start_ns", "end_ns"))
    done = end > 0
    shared = ~np.isnan(waiting[rows])
    moved = float(transfer[rows][shared].mean()) if shared.any() else float("nan")
    lasts = last[rows][last[rows] >= 0]
    most = int(np.bincount(lasts).argmax()) if len(lasts) else None
    whole = calls.array("step")[rows]
    steps = len({s for s in whole.tolist() if s >= 0})
    known_size = isinstance(size, int) and size > 0
    return CollectiveRow(
        kind=str(kind),
        rank=who if isinstance(who, int) and who >= 0 else None,
        group=group if isinstance(group, str) else None,
        bytes=size if isinstance(size, int) and size >= 0 else None,
        dtype=dtype if isinstance(dtype, str) else None,
        calls=len(rows),
        per_step=int((whole >= 0).sum()) / steps if steps else None,
        queue_ms=_mean((start - begin)[(start > 0)]),
        total_ms=_mean((end - begin)[done]),
        waiting_ms=_mean(waiting[rows][shared]),
        transfer_ms=moved / 1e6 if shared.any() else None,
        exposed_ms=_mean(exposed[rows][done]),
        bandwidth_gbs=float(size) / moved
        if known_size and shared.any() and moved > 0 and isinstance(size, int)
        else None,
        last_rank=most,
        last_share=float((lasts == most).mean()) if len(lasts) else None,
        unfinished=int((~done).sum()),
        file=file if isinstance(file, str) else None,
        line=line if isinstance(line, int) and line > 0 else None,
    )


def _mean(values: Array) -> float | None:
    return float(values.mean()) / 1e6 if len(values) else None


def _group_names(recording: Recording) -> dict[int, str]:
    groups = recording.table("groups")
    told = dict(zip(groups.array("group").tolist(), groups.text("description").tolist(), strict=True))
    found = {}
    for number, (name, _) in group_keys(groups).items():
        description = told.get(number)
        found[number] = f"{name} {description}" if description and description != "undefined" else name
    return found
