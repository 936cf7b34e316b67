"""raw/PID.native.bin and the groups that a process noted → rows of `groups` and `collectives`.

In: the agent's records of each collective (native/agent/steps/collectives.cpp), the Python code that asked for them
(native/agent/steps/asked_from.h) and the lines of groups in the log of marks. Out: one row per collective, send or
receive, in the order in which they were asked for. A work's address is used again once it is freed, so records belong
to the last `Made` of their address before them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.columns import Array, Table, Text
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.events import Events
from sonde.ingest.observers.places import Line, lines_of_places
from sonde.ingest.observers.roster import Roster
from sonde.record.inside.events import (
    COLLECTIVE_FROM,
    COLLECTIVE_MADE,
    COLLECTIVE_QUEUED,
    COLLECTIVE_RAN,
    COLLECTIVE_SIZE,
    COLLECTIVE_WAITED,
    COLLECTIVES,
)
from sonde.store import build

# c10d::OpType
KINDS = (
    "broadcast", "all_reduce", "all_reduce", "reduce", "all_gather", "all_gather", "all_gather", "gather",
    "scatter", "reduce_scatter", "all_to_all", "all_to_all", "send", "receive", "receive", "barrier",
    "reduce_scatter", "coalesced", "all_reduce", "reduce_scatter",
)  # fmt: skip
SEND, RECEIVE, RECEIVE_ANY = 12, 13, 14
# c10::ScalarType
TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128",
    "bool", "qint8", "quint8", "qint32", "bfloat16",
)  # fmt: skip


@dataclass(frozen=True)
class Calls:
    """The collectives of one process; -1 where something is not known."""

    tid: Array
    address: Array  # of the group
    number: Array
    kind: list[str]
    peer: Array
    bytes: Array
    dtype: list[str | None]
    queued_ns: Array
    start_ns: Array
    end_ns: Array
    waited_ns: Array
    line: list[Line | None]  # that asked

    def __len__(self) -> int:
        return len(self.tid)


@dataclass
class Noted:
    """What all processes of a run noted."""

    groups: list[Table] = field(default_factory=list)
    collectives: list[Table] = field(default_factory=list)

    def add(self, process: int, calls: Calls, told: Sequence[dict[str, Any]], roster: Roster) -> None:
        """One process."""
        before = sum(map(len, self.groups))
        groups, of_address = _groups(process, calls, told, before)
        if len(groups):
            self.groups.append(groups)
        if len(calls):
            rows = sum(map(len, self.collectives))
            self.collectives.append(_table(process, calls, of_address, rows, roster))

    def tables(self) -> dict[str, Table]:
        return {
            "groups": build.concat("groups", self.groups),
            "collectives": build.concat("collectives", self.collectives),
        }


def read(path: Path) -> Calls:
    """The collectives in one log, of a process that ended in any way or still runs."""
    places = path.with_name(rawfolder.PLACES.name(int(path.name.partition(".")[0])))
    return calls_of(event_files.read(path, COLLECTIVES), lines_of_places(places))


def calls_of(events: Events, lines: Mapping[int, Line] | None = None) -> Calls:
    """One row per `Made`, in the order in which the program asked. `lines`: of places by their number."""
    made = np.flatnonzero(events.code == COLLECTIVE_MADE)
    made = made[np.argsort(events.start_ns[made], kind="stable")]
    packed = events.b[made]
    operation = packed & 0xFF
    message = np.isin(operation, (SEND, RECEIVE, RECEIVE_ANY))
    queue, size = _of(made, events, COLLECTIVE_QUEUED), _of(made, events, COLLECTIVE_SIZE)
    ran, waited = _of(made, events, COLLECTIVE_RAN), _of(made, events, COLLECTIVE_WAITED)
    came = _of(made, events, COLLECTIVE_FROM)
    from_place = np.where(came >= 0, events.b[came], 0).tolist()
    queued_ns = np.where(queue >= 0, events.start_ns[queue], events.start_ns[made])
    address = np.where(queue >= 0, events.b[queue], -1)
    over = (ran >= 0) & (events.end_ns[ran] > events.start_ns[ran])
    start_ns = np.where(ran >= 0, events.start_ns[ran], np.where(message, queued_ns, -1))
    end_ns = np.where(over, events.end_ns[ran], np.where(message & (waited >= 0), events.end_ns[waited], -1))
    return Calls(
        tid=events.tid[made],
        address=address,
        number=np.where(message, -1, (packed >> 16) - _messages_before(address, message)),
        kind=[KINDS[o] if o < len(KINDS) else "other" for o in operation.tolist()],
        peer=np.where(message, packed >> 16, -1),
        bytes=np.where(size >= 0, events.b[size], -1),
        dtype=[TYPES[t] if t < len(TYPES) else None for t in (packed >> 8 & 0xFF).tolist()],
        queued_ns=queued_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        waited_ns=np.where(waited >= 0, (events.end_ns - events.start_ns)[waited], -1),
        line=[(lines or {}).get(place) for place in from_place],
    )


def _messages_before(address: Array, message: Array) -> Array:
    """Sends and receives of the same group before each call. Gloo counts them with the collectives, and ranks of a
    pipeline send unlike often: without them the numbers are the same on all ranks."""
    before = np.zeros(len(address), np.int64)
    for group in np.unique(address[message]).tolist():
        mine = address == group
        before[mine] = np.cumsum(message[mine])
    return before


def _of(made: Array, events: Events, code: int) -> Array:
    """Row of the first record of this kind that each collective has, -1 when there is none."""
    rows = np.flatnonzero(events.code == code)
    found = np.full(len(made), -1, np.int64)
    order = np.lexsort((events.start_ns[made], events.a[made]))
    keys = made[order]
    # Sorted by address, then time: the last `Made` at or before each record is its owner, if the address is the same.
    by = np.lexsort((events.start_ns[rows], events.a[rows]))
    rows = rows[by]
    address, time = events.a, events.start_ns
    at = _last_before(address[keys], time[keys], address[rows], time[rows])
    for row, place in zip(rows[::-1].tolist(), at[::-1].tolist(), strict=True):
        if place >= 0:
            found[order[place]] = row  # from the last to the first, so the first stays
    return found


def _last_before(address: Array, time: Array, of_address: Array, at: Array) -> Array:
    """Of sorted (address, time): the last with the same address and a time not after; -1 when there is none."""
    joined = np.concatenate(
        [np.stack([address, time, np.zeros_like(time)], 1), np.stack([of_address, at, np.ones_like(at)], 1)]
    )
    order = np.lexsort((joined[:, 2], joined[:, 1], joined[:, 0]))
    is_key = joined[order, 2] == 0
    last = np.maximum.accumulate(np.where(is_key, np.arange(len(order)), -1))
    place = np.where(last >= 0, order[np.maximum(last, 0)], -1)
    result = np.full(len(at), -1, np.int64)
    asked = np.flatnonzero(~is_key)
    mine = order[asked] - len(time)
    owner = place[asked]
    same = (owner >= 0) & (address[np.maximum(owner, 0)] == of_address[mine]) if len(time) else owner >= 0
    result[mine] = np.where(same, owner, -1)
    return result


def _groups(
    process: int, calls: Calls, told: Sequence[dict[str, Any]], before: int
) -> tuple[Table, dict[int, int]]:
    """Groups by their line in the log, then those that only collectives know; and which address is which."""
    rows: list[tuple[Any, ...]] = []
    of_address: dict[int, int] = {}
    for row in told:
        number = before + len(rows)
        for address in row.get("addresses") or ():
            of_address[int(address)] = number
        ranks = row.get("ranks")
        rows.append(
            (
                number,
                process,
                row.get("name"),
                row.get("description"),
                row.get("backend"),
                int(row.get("rank", -1)),
                json.dumps(ranks) if ranks is not None else None,
            )
        )
    for address in np.unique(calls.address[calls.address > 0]).tolist():
        if address not in of_address:
            of_address[address] = before + len(rows)
            rows.append((before + len(rows), process, None, None, "gloo", -1, None))
    names = ("group", "process", "name", "description", "backend", "rank", "ranks")
    if not rows:
        return build.empty("groups"), {}
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return build.table("groups", len(rows), **columns), of_address


def _table(process: int, calls: Calls, of_address: dict[int, int], first: int, roster: Roster) -> Table:
    threads = {tid: roster.thread(process, tid) for tid in np.unique(calls.tid).tolist()}
    return build.table(
        "collectives",
        len(calls),
        collective=np.arange(first, first + len(calls)),
        process=np.full(len(calls), process),
        thread=[threads[tid] for tid in calls.tid.tolist()],
        group=[of_address.get(a, -1) for a in calls.address.tolist()],
        number=calls.number,
        kind=Text.of(calls.kind),
        peer=calls.peer,
        bytes=calls.bytes,
        dtype=Text.of(calls.dtype),
        queued_ns=calls.queued_ns,
        start_ns=calls.start_ns,
        end_ns=calls.end_ns,
        waited_ns=calls.waited_ns,
        file=Text.of([line.file if line else None for line in calls.line]),
        line=[line.number if line else -1 for line in calls.line],
    )
