"""Many trace files → the ranks of a job, compared.

Enters: a folder or files. Leaves: a `Job`: one `GpuSummary` per run, and notes on what did not fit.
The per-rank stage (`summary_of`) reads one file and returns a few kilobytes; it runs wherever
`sonde.ingest.ranks.engines` puts it. Which rank a file is comes from its metadata, else from its name, else from
its only device, else from its place in the list, and the job says which of these was used.
Files of the same rank are several runs in one folder: they are told apart by time and never mixed.
What a reader of any view must know first (a missing rank, a file left out, another run) is in the notes, which
go into the recording's details (`sonde.analyze.recording.notes`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.ranks.comparison import GpuSummary, gpu_summary
from sonde.analyze.ranks.summary import RankSummary, summaries
from sonde.analyze.recording.notes import cut
from sonde.errors import InputError, UsageError
from sonde.ingest import Failure, Survey, survey
from sonde.ingest.ranks import engines, wording
from sonde.ingest.ranks.merge import merged
from sonde.rows import plain
from sonde.store import build
from sonde.store.losses import Loss, loss_table
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

    @property
    def numbers(self) -> list[int]:
        return [r.rank for r in self.summary.ranks]

    @property
    def start_ns(self) -> int:
        return min(r.start_ns for r in self.summary.ranks)

    @property
    def first_file(self) -> str:
        """Folder and name of the first rank's file: runs often lie in folders of their own."""
        return "/".join(Path(self.summary.ranks[0].source).parts[-2:])


@dataclass(frozen=True)
class Job:
    """What a folder of traces holds."""

    runs: tuple[Run, ...]
    without_device: tuple[str, ...]  # files that hold no device event
    failures: tuple[Failure, ...]  # files that were not read, and those that are no traces
    file_notes: tuple[str, ...]  # on files that belong to no run

    def notes(self, at: int) -> tuple[str, ...]:
        """What is said first in every view of one run: where the others are, its gaps, files left out."""
        if not self.runs:
            return self.file_notes
        run = self.runs[at]
        ranks = run.summary.ranks
        spans = [(u.start_ns, u.numbers, u.first_file) for u in self.runs]
        files = [(r.rank, Path(r.source).name, r.cut) for r in ranks]
        sizes = {r.world_size for r in ranks if r.world_size > 0}
        return (*wording.other_runs(spans, at), *wording.of_run(files, run.missing, sizes), *self.file_notes)


def summary_of(path: Path) -> RankSummary:
    """The per-rank stage: one file in, one small summary out."""
    from sonde.ingest import open_any

    found = _best(open_any(path), str(path))
    if not found:
        raise InputError(f"{path} holds no operator, call or device event")
    return found[0]


def read_ranks(paths: Sequence[Path], engine: str = "local", workers: int | None = None) -> Job:
    """Read all files (folders are searched) and compare the ranks found in them."""
    seen = [survey(p) if p.is_dir() else Survey([p], []) for p in paths]
    files = [f for s in seen for f in s.traces]
    if not files:
        raise InputError(
            f"no trace was found in {', '.join(map(str, paths))}",
            "give a folder with trace.json[.gz] files of torch.profiler, one per rank",
        )
    outcomes = engines.run(summary_of, files, engine, workers)
    return settle(
        [o for o in outcomes if not isinstance(o, Failure)],
        [o for s in seen for o in s.others] + [o for o in outcomes if isinstance(o, Failure)],
    )


def open_folder(folder: Path, engine: str = "local", run: int | None = None) -> Recording:
    """The traces in a folder as one recording, a process per rank, so that every command takes a folder.

    Where files hold several runs, `run` (1 is the first) or the one that began last is opened; what is left out
    is in `losses`, and the notes say how to open it.
    Of hundreds of ranks all are compared (`all_ranks` in the details, which `show gpu` prints) and a few are
    opened: those that are late, then the first ones.
    """
    seen = survey(folder)
    files = seen.traces
    if not files:
        raise InputError(
            f"{folder} is neither a recording nor a folder with traces",
            "give NAME.sonde, a trace.json[.gz], or a folder with one trace per rank",
        )
    if len(files) > MAX_OPEN:
        return _open_some(folder, files, engine, run)
    read = engines.run(open_file, files, engine, workers=1 if engine == "local" else None)
    opened = {str(p): r for p, r in zip(files, read, strict=True) if isinstance(r, Recording)}
    failures = [r for r in read if isinstance(r, Failure)]
    if not opened:
        raise InputError(f"none of the {len(files)} traces in {folder} could be read: {failures[0].message}")
    found = [s for path, r in opened.items() for s in _best(r, path)]
    job = settle(found, [*seen.others, *failures])
    members = list(opened.values())
    at = _chosen_run(job, run)
    notes = job.notes(at)
    if job.runs:
        members = [_ranked(opened[s.source], s.rank) for s in job.runs[at].summary.ranks]
    whole = merged(members)
    left_out = len(files) - len(members)
    if left_out:
        whole = _with_loss(whole, left_out, "; ".join(notes))
    whole.meta.details["notes"] = list(notes)
    return whole


def open_file(path: Path) -> Recording:
    """One trace, as a stage that engines can run."""
    from sonde.ingest import open_any

    return open_any(path)


def _open_some(folder: Path, files: Sequence[Path], engine: str, run: int | None) -> Recording:
    job = read_ranks([folder], engine)
    if not job.runs:
        raise InputError(f"none of the {len(files)} traces in {folder} holds a device event")
    at = _chosen_run(job, run)
    whole = job.runs[at].summary
    late = [s.rank for s in whole.stragglers]
    order = sorted(whole.ranks, key=lambda r: (late.index(r.rank) if r.rank in late else len(late), r.rank))
    chosen = sorted(order[:OPENED_OF_MANY], key=lambda r: r.rank)
    recording = merged([_ranked(open_file(Path(r.source)), r.rank) for r in chosen])
    opened = wording.ranges([r.rank for r in chosen])
    notes = [
        f"`show gpu` compares all {len(whole.ranks)} ranks; every other view is of ranks {opened}",
        *job.notes(at),
    ]
    recording = _with_loss(recording, len(files) - len(chosen), "; ".join(notes))
    recording.meta.details["all_ranks"] = plain(whole.answer())
    recording.meta.details["notes"] = notes
    return recording


def _chosen_run(job: Job, run: int | None) -> int:
    """The place in `job.runs`, which begin one after the other; the last unless another was asked for."""
    if run is None:
        return len(job.runs) - 1
    if not 1 <= run <= max(len(job.runs), 1):
        held = "one run" if len(job.runs) <= 1 else f"{len(job.runs)} runs"
        raise UsageError(
            f"there is no run {run}: the folder holds {held}", "runs are counted from 1, by time"
        )
    return run - 1


def _best(recording: Recording, path: str) -> list[RankSummary]:
    """The rank that a file is of. Of concatenated traces of several ranks, the one with most device events."""
    found = summaries(recording.table, path, device_name_in(recording.meta.details))
    why = cut(recording.table("losses"))
    best = max(
        found,
        key=lambda s: (sum(d.time.events for d in s.devices), s.end_ns - s.start_ns),
        default=None,
    )
    return [] if best is None else [replace(best, source=path, cut=why)]


def _ranked(recording: Recording, rank: int) -> Recording:
    """The recording with the rank that was settled on, where its metadata had none."""
    processes = recording.table("processes")
    ranks = np.where(processes.array("rank") < 0, rank, processes.array("rank"))
    tables = {t.name: t for t in recording.tables()}
    tables["processes"] = processes.with_columns(rank=ranks.astype(np.int32))
    return Recording(recording.meta, tables, recording.path)


def _with_loss(recording: Recording, count: int, detail: str) -> Recording:
    why = detail or "traces of the folder that are not part of the run opened"
    row = loss_table([Loss(-1, "traces_left_out", count, "files", why)])
    tables = {t.name: t for t in recording.tables()}
    tables["losses"] = build.concat("losses", [tables["losses"], row])
    return Recording(recording.meta, tables, recording.path)


def settle(found: Sequence[RankSummary], failures: Sequence[Failure] = ()) -> Job:
    """Decide who is which rank and which ranks ran together."""
    idle = [s for s in found if not s.devices]
    active = [s for s in found if s.devices]
    notes = wording.left_out([(f.path.name, f.message) for f in failures])
    if idle and active:
        notes += wording.without_device([(Path(s.source).name, s.cut) for s in idle])
    numbered, source = _numbered(active)
    runs = []
    for members in _runs(numbered):
        size = max((s.world_size for s in members), default=-1)
        runs.append(Run(gpu_summary(members), source, _missing([s.rank for s in members], size)))
    runs.sort(key=lambda run: run.start_ns)
    return Job(tuple(runs), tuple(s.source for s in idle), tuple(failures), tuple(notes))


def _missing(ranks: Sequence[int], world_size: int) -> tuple[int, ...]:
    """Ranks that the world size promises; without one, the holes between the ranks there are.

    Numbers far apart (step_100, step_200) are then no ranks of one job, and nothing is said of them.
    """
    wanted = range(world_size) if world_size > 0 else range(min(ranks), max(ranks) + 1)
    if world_size <= 0 and len(wanted) > 2 * len(ranks):
        return ()
    return tuple(sorted(set(wanted) - set(ranks)))


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
