"""The same collective on all its ranks: who came when, how long each waited for the last, how long the data took.

Enters: `collectives`, `groups`, `processes`; times of all ranks on one clock. Leaves: `Shared`: one column per
collective, one row per rank. A collective is known on all ranks by its group and its number in the group. For each:
    waiting of a rank  = moment at which the last rank asked − moment at which this rank asked
    transfer of a rank = its end − moment at which the last rank asked
so that both sum to the time from asking to the end. Sends and receives are no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde import json_text
from sonde.analyze.base.grouping import rows_of
from sonde.columns import Array, Table


@dataclass(frozen=True)
class Shared:
    """Collectives that every rank of their group entered and left. Arrays are (ranks × calls); -1: not a member."""

    ranks: tuple[int, ...]
    row: Array  # in `collectives`
    queued: Array
    end: Array
    unfinished: int  # calls of which a member never came, or never left
    mismatched: int  # calls that are not the same operation, or not of the same size, on all ranks

    def __len__(self) -> int:
        return int(self.row.shape[1])

    @property
    def member(self) -> Array:
        found: Array = self.row >= 0
        return found

    @property
    def last_ns(self) -> Array:
        """When the last rank asked for each."""
        found: Array = np.where(self.member, self.queued, np.iinfo(np.int64).min).max(axis=0)
        return found

    @property
    def last(self) -> Array:
        """Row in `ranks` of the last to come."""
        found: Array = np.where(self.member, self.queued, np.iinfo(np.int64).min).argmax(axis=0)
        return found

    @property
    def waiting_ns(self) -> Array:
        found: Array = np.where(self.member, np.maximum(self.last_ns - self.queued, 0), 0)
        return found

    @property
    def transfer_ns(self) -> Array:
        """May be below 0 where a rank left before the last had come (a broadcast's source need not wait)."""
        found: Array = np.where(self.member, self.end - self.last_ns, 0)
        return found

    @property
    def lead_ns(self) -> Array:
        """How much later the last came than the median of the others."""
        others = np.where(self.member, self.queued, np.int64(-1)).astype(float)
        others[others < 0] = np.nan
        others[self.last, np.arange(len(self))] = np.nan
        base = self.last_ns - np.int64(0)
        with np.errstate(all="ignore"):
            middle = _nanmedian(others - base)
        found: Array = np.where(np.isnan(middle), 0.0, -middle)
        return found


def _nanmedian(values: Array) -> Array:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column of nothing but nan is a call of one rank
        found: Array = np.nanmedian(values, axis=0)
    return found


def rank_of_rows(calls: Table, processes: Table) -> Array:
    """The rank of each row of a table with a process, -1 when it has none."""
    at = rows_of(processes.array("process"), calls.array("process"))
    return np.where(at >= 0, processes.array("rank")[np.maximum(at, 0)] if len(processes) else -1, -1)


def group_keys(groups: Table) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Group → what is the same on all its ranks: name and members (empty where unknown)."""
    found = {}
    columns = (groups.array("group").tolist(), groups.text("name").tolist(), groups.text("ranks").tolist())
    for number, name, ranks in zip(*columns, strict=True):
        members = json_text.list_of(ranks) or []
        found[number] = (name or "?", tuple(int(r) for r in members if isinstance(r, int)))
    return found


def shared_calls(calls: Table, groups: Table, processes: Table) -> Shared:
    """Match all collectives of the recording."""
    rank = rank_of_rows(calls, processes)
    told = sorted({int(r) for r in rank.tolist() if r >= 0})
    keys = group_keys(groups)
    place = {r: i for i, r in enumerate(told)}
    columns: dict[tuple[str, tuple[int, ...], int], dict[int, int]] = {}
    numbers, of_group = calls.array("number").tolist(), calls.array("group").tolist()
    for at, (who, group, number) in enumerate(zip(rank.tolist(), of_group, numbers, strict=True)):
        if number >= 0 and who >= 0 and group in keys:
            columns.setdefault((*keys[group], number), {}).setdefault(place[who], at)
    kinds, sizes = calls.text("kind").codes, calls.array("bytes")
    end = calls.array("end_ns")
    unfinished = mismatched = 0
    kept: list[dict[int, int]] = []
    for (_, members, _), rows in columns.items():
        wanted = len(members) if members else len(told)
        one = list(rows.values())
        if len(rows) < min(wanted, len(told)) or (end[one] < 0).any():
            unfinished += 1
        elif len(set(kinds[one].tolist())) > 1 or (
            _same_size(kinds[one], calls) and len(set(sizes[one].tolist())) > 1
        ):
            mismatched += 1
        elif len(rows) > 1:
            kept.append(rows)
    kept.sort(key=lambda rows: max(calls.array("queued_ns")[one] for one in rows.values()))
    row = np.full((max(len(told), 1), len(kept)), -1, np.int64)
    for at, rows in enumerate(kept):
        for who, which in rows.items():
            row[who, at] = which
    inside = np.maximum(row, 0)
    queued = np.where(row >= 0, calls.array("queued_ns")[inside], -1) if len(calls) else row
    ends = np.where(row >= 0, end[inside], -1) if len(calls) else row
    return Shared(tuple(told), row, queued, ends, unfinished, mismatched)


_ONE_SIZE = ("all_reduce", "barrier", "reduce_scatter")


def _same_size(kinds: Array, calls: Table) -> bool:
    names = calls.text("kind").values
    return bool(len(kinds)) and names[int(kinds[0])] in _ONE_SIZE
