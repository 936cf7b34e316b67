"""Many trace files → the ranks of a job, compared.

Enters: a folder or files. Leaves: a `Job`: one `GpuSummary` per run, and notes on what did not fit.
The per-rank stage (`summary_of`) reads one file and returns a few kilobytes; it runs wherever
`sonde.importers.engines` puts it. Which rank a file is comes from its metadata, else from its name, else from
its only device, else from its place in the list, and the job says which of these was used.
Files of the same rank are several runs in one folder: they are told apart by time and never mixed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sonde.analyze.achieved import device_name_in
from sonde.analyze.gpu_summary import GpuSummary, gpu_summary
from sonde.analyze.rank_summary import RankSummary, summaries
from sonde.errors import InputError
from sonde.importers import engines, find_traces
from sonde.importers.merge import merged
from sonde.store import build
from sonde.store.recording import Recording

MAX_OPEN = 64  # more traces than this are compared by their summaries
OPENED_OF_MANY = 8
# The last number that a name marks as a rank: rank-3, rank_3, rank3; else a number before the extension.
_MARKED = re.compile(r"rank[-_ ]?(\d+)", re.IGNORECASE)
_TRAILING = re.compile(r"[-_.](\d{1,5})(?:\.pt)?(?:\.trace)?\.json(?:\.gz)?$")


@dataclass(frozen=True)
class Run:
    """Ranks that ran together."""

    summary: GpuSummary
    rank_from: str  # metadata, name, device or order: the weakest source that was needed
    missing: tuple[int, ...]  # ranks that the world size promises and no file has


@dataclass(frozen=True)
class Job:
    """What a folder of traces holds."""

    runs: tuple[Run, ...]
    without_device: tuple[str, ...]  # files that hold no device event
    failures: tuple[engines.Failure, ...]
    notes: tuple[str, ...]


def summary_of(path: Path) -> RankSummary:
    """The per-rank stage: one file in, one small summary out."""
    from sonde.importers import open_any

    recording = open_any(path)
    found = summaries(recording.table, path.name, device_name_in(recording.meta.details))
    if not found:
        raise InputError(f"{path} holds no operator, call or device event")
    # Of concatenated traces of several ranks, the one with most device events counts: a file is one rank.
    best = max(found, key=lambda s: (sum(d.time.events for d in s.devices), s.end_ns - s.start_ns))
    return replace(best, source=str(path))


def read_ranks(paths: Sequence[Path], engine: str = "local", workers: int | None = None) -> Job:
    """Read all files (folders are searched) and compare the ranks found in them."""
    files = [f for p in paths for f in (find_traces(p) if p.is_dir() else [p])]
    if not files:
        raise InputError(
            f"no trace was found in {', '.join(map(str, paths))}",
            "give a folder with trace.json[.gz] files of torch.profiler, one per rank",
        )
    outcomes = engines.run(summary_of, files, engine, workers)
    return settle(
        [o for o in outcomes if not isinstance(o, engines.Failure)],
        [o for o in outcomes if isinstance(o, engines.Failure)],
    )


def open_folder(folder: Path, engine: str = "local") -> Recording:
    """The traces in a folder as one recording, a process per rank, so that every verb takes a folder.

    Where files hold several runs, the run that began last is opened; what is left out is in `losses`.
    Of hundreds of ranks all are compared (`all_ranks` in the details, which `show gpu` prints) and a few are
    opened: those that are late, then the first ones.
    """
    files = find_traces(folder)
    if not files:
        raise InputError(
            f"{folder} is neither a recording nor a folder with traces",
            "give NAME.sonde, a trace.json[.gz], or a folder with one trace per rank",
        )
    if len(files) > MAX_OPEN:
        return _open_some(folder, files, engine)
    read = engines.run(open_file, files, engine, workers=1 if engine == "local" else None)
    opened = {str(p): r for p, r in zip(files, read, strict=True) if isinstance(r, Recording)}
    failures = [r for r in read if isinstance(r, engines.Failure)]
    if not opened:
        raise InputError(f"none of the {len(files)} traces in {folder} could be read: {failures[0].message}")
    found = [s for path, r in opened.items() for s in _best(r, path)]
    job = settle(found, failures)
    members = list(opened.values())
    if job.runs:
        members = [_ranked(opened[s.source], s.rank) for s in _last_run(job).ranks]
    whole = merged(members)
    left_out = len(files) - len(members)
    if left_out:
        whole = _with_loss(whole, left_out, "; ".join(job.notes))
    return whole


def open_file(path: Path) -> Recording:
    """One trace, as a stage that engines can run."""
    from sonde.importers import open_any

    return open_any(path)


def _open_some(folder: Path, files: Sequence[Path], engine: str) -> Recording:
    job = read_ranks([folder], engine)
    if not job.runs:
        raise InputError(f"none of the {len(files)} traces in {folder} holds a device event")
    whole = _last_run(job)
    late = [s.rank for s in whole.stragglers]
    order = sorted(whole.ranks, key=lambda r: (late.index(r.rank) if r.rank in late else len(late), r.rank))
    chosen = sorted(order[:OPENED_OF_MANY], key=lambda r: r.rank)
    recording = merged([_ranked(open_file(Path(r.source)), r.rank) for r in chosen])
    detail = (
        f"all {len(whole.ranks)} ranks are compared; tables are of ranks {_ranges([r.rank for r in chosen])}"
    )
    recording = _with_loss(recording, len(files) - len(chosen), "; ".join([detail, *job.notes]))
    recording.meta.details["all_ranks"] = whole.to_json()
    return recording


def _last_run(job: Job) -> GpuSummary:
    return max(job.runs, key=lambda run: min(r.start_ns for r in run.summary.ranks)).summary


def _best(recording: Recording, path: str) -> list[RankSummary]:
    found = summaries(recording.table, path, device_name_in(recording.meta.details))
    best = max(found, key=lambda s: sum(d.time.events for d in s.devices), default=None)
    return [] if best is None else [replace(best, source=path)]


def _ranked(recording: Recording, rank: int) -> Recording:
    """The recording with the rank that was settled on, where its metadata had none."""
    processes = recording.table("processes")
    ranks = np.where(processes.array("rank") < 0, rank, processes.array("rank"))
    tables = {t.name: t for t in recording.tables()}
    tables["processes"] = processes.with_columns(rank=ranks.astype(np.int32))
    return Recording(recording.meta, tables, recording.path)


def _with_loss(recording: Recording, count: int, detail: str) -> Recording:
    row = build.table(
        "losses",
        process=[-1],
        cause=["traces_left_out"],
        count=[count],
        unit=["files"],
        detail=[detail or "traces of the folder that are not part of the run opened"],
    )
    tables = {t.name: t for t in recording.tables()}
    tables["losses"] = build.concat("losses", [tables["losses"], row])
    return Recording(recording.meta, tables, recording.path)


def settle(found: Sequence[RankSummary], failures: Sequence[engines.Failure] = ()) -> Job:
    """Decide who is which rank and which ranks ran together."""
    idle = [s for s in found if not s.devices]
    active = [s for s in found if s.devices]
    notes = [f"{f.path.name} could not be read: {f.message}" for f in failures]
    if idle and active:
        notes.append(f"{len(idle)} files hold no device event and are left out of the comparison")
    numbered, source = _numbered(active)
    runs = []
    for members in _runs(numbered):
        size = max((s.world_size for s in members), default=-1)
        sizes = {s.world_size for s in members if s.world_size > 0}
        if len(sizes) > 1:
            notes.append(f"files disagree on the world size: {sorted(sizes)}")
        missing = tuple(r for r in range(max(size, 0)) if r not in {s.rank for s in members})
        runs.append(Run(gpu_summary(members), source, missing))
    if len(runs) > 1:
        notes.append(f"some ranks occur more than once: the files hold {len(runs)} runs, told apart by time")
    for run in runs:
        if run.missing and len(run.summary.ranks) > 1:
            notes.append(f"ranks {_ranges(run.missing)} are missing")
    return Job(tuple(runs), tuple(s.source for s in idle), tuple(failures), tuple(notes))


def rank_in_name(name: str) -> int:
    """The rank that a file's name tells, -1 when it tells none."""
    marked = _MARKED.findall(name)
    if marked:
        return int(marked[-1])
    trailing = _TRAILING.search(name)
    return int(trailing.group(1)) if trailing else -1


def _numbered(found: list[RankSummary]) -> tuple[list[RankSummary], str]:
    """The summaries with ranks, and the weakest source that was needed for one of them."""
    if all(s.rank >= 0 for s in found):
        return found, "metadata"
    by_name = [s.rank if s.rank >= 0 else rank_in_name(Path(s.source).name) for s in found]
    if all(r >= 0 for r in by_name) and len(set(by_name)) == len(by_name):
        return [replace(s, rank=r) for s, r in zip(found, by_name, strict=True)], "name"
    by_device = [s.rank if s.rank >= 0 else s.devices[0].time.device for s in found]
    if len(set(by_device)) == len(by_device) and all(len(s.devices) == 1 for s in found):
        return [replace(s, rank=r) for s, r in zip(found, by_device, strict=True)], "device"
    taken = {s.rank for s in found}
    free = (r for r in range(len(found) * 2) if r not in taken)
    return [s if s.rank >= 0 else replace(s, rank=next(free)) for s in found], "order"


def _runs(found: list[RankSummary]) -> list[list[RankSummary]]:
    """Groups of distinct ranks. A rank that occurs twice begins another run: the n-th by time of each."""
    groups: list[list[RankSummary]] = []
    for summary in sorted(found, key=lambda s: s.start_ns):
        fitting = [g for g in groups if summary.rank not in {m.rank for m in g}]
        if not fitting:
            groups.append([summary])
            continue
        nearest = min(fitting, key=lambda g: min(abs(summary.start_ns - m.start_ns) for m in g))
        nearest.append(summary)
    return groups


def _ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 → "1-3, 7"."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
