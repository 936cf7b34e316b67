"""Recordings of one job, one per host → one recording on one clock.

Enters: recordings that `sonde run` made on each node. Leaves: a recording with all ranks, its times on the clock of the
first, and what must be known first in its notes: ranks that are missing, double, or of another job. Clocks are aligned
by the collectives that the hosts share (`sonde.analyze.ranks.clocks`); it refuses where that is impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sonde.analyze.ranks.clocks import SAME_CLOCK, ClockFit, fit
from sonde.analyze.ranks.shared import group_keys, rank_of_rows
from sonde.columns import Array, Table
from sonde.errors import InputError
from sonde.ingest.ranks.merge import merged
from sonde.ingest.ranks.wording import ranges
from sonde.store.reader import is_recording, open_recording
from sonde.store.recording import Recording

SYNCHRONISING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
TIMES = ("time_ns", "start_ns", "end_ns", "queued_ns")
SAME_NS = 50_000_000  # epoch offsets of one host's clock differ by less
LARGEST_UNCERTAINTY_NS = 1_000_000
MOST_CALLS = 20_000  # of a pair of hosts


@dataclass(frozen=True)
class Member:
    """One recording, and its calls by what is the same on all ranks."""

    name: str
    recording: Recording
    ranks: tuple[int, ...]
    world_size: int
    job: str
    host: str
    calls: dict[tuple[str, tuple[int, ...], int], tuple[int, int, int]]  # → last asked, first and last end


def find_recordings(folder: Path) -> list[Path]:
    """Recordings in a folder that is none itself."""
    if not folder.is_dir() or is_recording(folder):
        return []
    return sorted(p for p in folder.iterdir() if not p.is_symlink() and is_recording(p))


def open_hosts(paths: Sequence[Path]) -> Recording:
    """All of them as one."""
    if len(paths) < 2:
        raise InputError("there is only one recording to merge", "give one per host")
    return join([member_of(open_recording(path), path.name) for path in paths])


def member_of(recording: Recording, name: str) -> Member:
    """What joining needs to know of a recording."""
    processes = recording.table("processes")
    ranks = tuple(sorted({r for r in processes.array("rank").tolist() if r >= 0}))
    if not ranks:
        raise InputError(f"{name} has no ranks", "merge recordings of a distributed job, one per host")
    hosts = [h for h in processes.text("host").tolist() if h]
    return Member(
        name,
        recording,
        ranks,
        int(processes.array("world_size").max(initial=-1)),
        str(recording.meta.options.get("job") or ""),
        hosts[0] if hosts else "",
        _calls(recording),
    )


def join(members: Sequence[Member]) -> Recording:
    """One recording on the clock of the first member."""
    notes = _doubts(members)
    members, foreign = _same_job(members)
    notes = foreign + notes
    fits = _fits(members)
    parts = [
        m.recording if f is SAME_CLOCK else _on_clock(m.recording, f)
        for m, f in zip(members, fits, strict=True)
    ]
    whole = merged(parts)
    worst = max((f.uncertainty_ns for f in fits), default=0.0)
    apart = max((abs(f.offset_ns) for f in fits), default=0.0)
    drift = max((abs(f.drift) for f in fits), default=0.0)
    words = (
        "one clock: all ranks ran on one host"
        if worst == 0 and apart == 0
        else (
            f"aligned by collectives within ±{worst / 1e3:.0f} µs (offsets up to {apart / 1e9:.3f} s, drift up to "
            f"{drift * 1e6:.1f} ppm)"
        )
    )
    meta = whole.meta
    details = {
        **meta.details,
        "notes": [*notes, *_list(meta.details.get("notes"))],
        "rank_clocks": {
            "words": words,
            "uncertainty_ns": worst,
            "hosts": [
                {"recording": m.name, "host": m.host, "ranks": list(m.ranks), "offset_ns": f.offset_ns,
                 "drift": f.drift, "uncertainty_ns": f.uncertainty_ns, "shared_calls": f.calls}
                for m, f in zip(members, fits, strict=True)
            ],
        },
    }  # fmt: skip
    return Recording(replace(meta, details=details), {t.name: t for t in whole.tables()}, None)


def _list(value: object) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []


def _same_job(members: Sequence[Member]) -> tuple[list[Member], list[str]]:
    """Members of the first one's job; others are named and left out."""
    first = members[0]
    kept, notes = [], []
    for one in members:
        if one.job != first.job and one.job and first.job:
            notes.append(f"{one.name} is of job {one.job!r}, not {first.job!r}, and is left out")
        elif one.world_size != first.world_size:
            notes.append(
                f"{one.name} is of a job of {one.world_size} ranks, not {first.world_size}, and is left out"
            )
        else:
            kept.append(one)
    seen: set[int] = set()
    single = []
    for one in kept:
        double = sorted(seen & set(one.ranks))
        if double:
            raise InputError(
                f"{one.name} has rank {ranges(double)} that another recording has too",
                "merge the recordings of one run: one per host",
            )
        seen |= set(one.ranks)
        single.append(one)
    if len(single) < 2:
        raise InputError("nothing is left to merge: " + "; ".join(notes))
    return single, notes


def _doubts(members: Sequence[Member]) -> list[str]:
    size = members[0].world_size
    there = {r for m in members for r in m.ranks if m.world_size == size}
    missing = sorted(set(range(max(size, 0))) - there)
    if not missing:
        return []
    verb = "is" if len(missing) == 1 else "are"
    return [
        f"of {size} ranks, {ranges(missing)} {verb} missing: the recordings are of {ranges(sorted(there))}"
    ]


def _fits(members: Sequence[Member]) -> list[ClockFit]:
    """The clock of each member against the first's: directly, or by way of one that is aligned already."""
    found: dict[int, ClockFit] = {0: SAME_CLOCK}
    refused: dict[int, str] = {}
    progress = True
    while len(found) < len(members) and progress:
        progress = False
        for at in range(len(members)):
            if at in found:
                continue
            for by in sorted(found, key=lambda b: found[b].uncertainty_ns):
                one = _pair(members[by], members[at])
                if one.refused:
                    refused.setdefault(at, one.refused)
                    continue
                found[at] = _through(one, found[by])
                progress = True
                break
    for at, member in enumerate(members):
        if at not in found:
            raise InputError(
                f"the clock of {member.name} cannot be aligned: {refused.get(at, 'no collective is shared')}",
                "record longer, with collectives that all hosts take part in",
            )
        if found[at].uncertainty_ns > LARGEST_UNCERTAINTY_NS:
            raise InputError(
                f"the clock of {member.name} is known only within ±{found[at].uncertainty_ns / 1e6:.2f} ms: that is "
                f"too coarse to say who came last (the limit is {LARGEST_UNCERTAINTY_NS / 1e6:.0f} ms)",
                "record more steps, on quieter machines",
            )
    return [found[at] for at in range(len(members))]


def _through(one: ClockFit, by: ClockFit) -> ClockFit:
    """Clock C against A, from C against B and B against A."""
    if by is SAME_CLOCK:
        return one
    origin_b = one.origin_ns - one.offset_ns
    offset = one.offset_ns + by.offset_ns + by.drift * (origin_b - by.origin_ns)
    return replace(
        one,
        offset_ns=offset,
        drift=one.drift + by.drift,
        uncertainty_ns=one.uncertainty_ns + by.uncertainty_ns,
    )


def _pair(one: Member, other: Member) -> ClockFit:
    clocks = one.recording.meta.clock, other.recording.meta.clock
    near = abs(clocks[0].epoch_offset_start_ns - clocks[1].epoch_offset_start_ns) < SAME_NS
    if one.host and one.host == other.host and near:
        return SAME_CLOCK
    shared = sorted(one.calls.keys() & other.calls.keys(), key=lambda key: one.calls[key][0])
    step = max(len(shared) // MOST_CALLS, 1)
    mine = np.array([one.calls[key] for key in shared[::step]], np.int64).reshape(-1, 3)
    theirs = np.array([other.calls[key] for key in shared[::step]], np.int64).reshape(-1, 3)
    # The strictest of each side: its last rank to ask, its first to end.
    return fit(mine[:, 0], mine[:, 1], theirs[:, 0], theirs[:, 1])


def _calls(recording: Recording) -> dict[tuple[str, tuple[int, ...], int], tuple[int, int, int]]:
    """Synchronising collectives: when the last rank of this recording asked, when the first had ended."""
    calls = recording.table("collectives")
    keys = group_keys(recording.table("groups"))
    rank = rank_of_rows(calls, recording.table("processes"))
    syncing = calls.text("kind").matches(SYNCHRONISING) & (calls.array("end_ns") > 0) & (rank >= 0)
    rows = np.flatnonzero(syncing & (calls.array("number") >= 0))
    found: dict[tuple[str, tuple[int, ...], int], tuple[int, int, int]] = {}
    columns = (calls.array(n)[rows].tolist() for n in ("group", "number", "queued_ns", "end_ns"))
    for group, number, asked, ended in zip(*columns, strict=True):
        name, members = keys.get(group, ("?", ()))
        if name == "?":
            continue
        before = found.get((name, members, number))
        found[name, members, number] = (
            (asked, ended, ended)
            if before is None
            else (max(before[0], asked), min(before[1], ended), max(before[2], ended))
        )
    return found


def _on_clock(recording: Recording, clock: ClockFit) -> Recording:
    return Recording(recording.meta, {t.name: _moved(t, clock) for t in recording.tables()}, recording.path)


def _moved(table: Table, clock: ClockFit) -> Table:
    changed: dict[str, Array] = {}
    for name in TIMES:
        if name in table and len(table):
            values = table.array(name)
            changed[name] = np.where(values > 0, clock.to_a(values), values).astype(values.dtype)
    return table.with_columns(**changed) if changed else table
