"""`ranks`: who the ranks of a job are, how their steps differ, and which of them the others wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sonde import json_text
from sonde.analyze.ranks.job import Job, LateRank
from sonde.analyze.ranks.lateness import FEWEST
from sonde.analyze.steps.program import StepReport
from sonde.columns import Array
from sonde.store.recording import Recording
from sonde.views.columns import Column, ordered
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class RankRow:
    """One rank. Times per step are means over the steps that all ranks made, warm-up and profiling windows left out."""

    rank: Annotated[int, Column("rank", meaning="its number in the job")]
    host: Annotated[str | None, Column("host", meaning="machine it ran on")]
    local_rank: Annotated[int | None, Column("local", meaning="its number on that machine")]
    role: Annotated[str | None, Column("role", meaning="what it is for: sonde.role() or the launcher")]
    pid: Annotated[int, Column("pid", meaning="process id")]
    steps: Annotated[int, Column("steps", "count", "steps that it made")]
    step_ms: Annotated[float | None, Column("step", "ms", "median steady step")]
    mean_ms: Annotated[
        float | None, Column("mean", "ms", "mean of the compared steps, with what other programs took")
    ]
    collectives: Annotated[int, Column("collectives", "count", "collectives, sends and receives")]
    sent_bytes: Annotated[int | None, Column("bytes", "bytes", "inputs of all its collectives")]
    waiting_ms: Annotated[float | None, Column("waiting", "ms", "per step, for the last rank to come")]
    transfer_ms: Annotated[float | None, Column("transfer", "ms", "per step, after the last rank had come")]
    exposed_ms: Annotated[float | None, Column("exposed", "ms", "per step, standing still for collectives")]
    late_ms: Annotated[
        float | None, Column("late", "ms", "per step, later than the median of the others where it came last")
    ]
    message_ms: Annotated[
        float | None, Column("messages", "ms", "per step, standing still for sends and receives")
    ]
    last_in: Annotated[int | None, Column("last", "count", "collectives that it entered last")]
    cpu_ms: Annotated[float | None, Column("CPU", "ms", "CPU time of its process")]
    max_rss_bytes: Annotated[int | None, Column("memory", "bytes", "peak resident memory")]
    exit_code: Annotated[int | None, Column("exit", meaning="exit code, -N when killed by signal N")]


@dataclass(frozen=True)
class GroupRow:
    """A process group."""

    name: str | None
    description: str | None
    backend: str | None
    ranks: list[int]
    collectives: int  # of all ranks


@dataclass(frozen=True)
class LateAnswer:
    """The rank that the others wait for, and why."""

    rank: int
    sentence: str
    pattern: str
    late_ms: float
    sigma_ms: float
    late_steps: int
    steps: int
    cause: str
    kind: str
    file: str
    line: int
    excess_ms: float
    step_ms: float
    without_ms: float | None  # a step without it, by replaying the collectives


@dataclass(frozen=True)
class Ranks:
    """`pattern`: every step, some steps, random, or "" where no rank is late, or too few steps can be compared."""

    world_size: int | None
    missing: list[int]
    double: list[int]
    pattern: str
    late: LateAnswer | None
    pace: int | None  # of a pipeline: the rank that hardly waits for messages while the others do
    sentence: str | None  # who is late, or that nobody is, or why that cannot be said
    steps_compared: int
    shared: int  # collectives that were matched across ranks
    unfinished: int
    mismatched: int
    clock: str  # how the ranks' clocks compare
    groups: list[GroupRow]
    rows: list[RankRow]


def data(recording: Recording, options: ShowOptions) -> Ranks:
    """One row per rank; none for a program without ranks."""
    job = Job(recording.table)
    rows = _rows(recording, job)
    pace = job.messages.pace if job.messages.pace >= 0 else None
    return Ranks(
        job.world_size if job.world_size > 0 else None,
        list(job.missing),
        list(job.double),
        job.lateness.pattern,
        late_answer(job.late),
        pace,
        _sentence(job, rows, pace),
        len(job.lateness.steps),
        len(job.shared),
        job.shared.unfinished,
        job.shared.mismatched,
        clock_words(recording),
        _groups(recording),
        ordered(rows, RankRow, options.sort, "rank") if options.sort else rows,
    )


def _sentence(job: Job, rows: list[RankRow], pace: int | None) -> str | None:
    there, compared = len(job.ranks), len(job.lateness.steps)
    if there < 2:
        return None
    if job.late is not None:
        return f"{job.late.sentence[:1].upper()}{job.late.sentence[1:]}."
    if compared < FEWEST:
        return (
            f"The {there} ranks are not compared: {compared} steps are steady on all of them and outside deep "
            f"windows, {FEWEST} are needed."
        )
    waits = {row.rank: row.message_ms for row in rows if row.message_ms is not None}
    if pace is not None:
        others = [f"{ms:.1f}" for rank, ms in sorted(waits.items(), key=lambda one: one[1]) if rank != pace]
        span = others[0] if others[0] == others[-1] else f"{others[0]} to {others[-1]}"
        return f"Rank {pace} sets the pace: it waits {waits[pace]:.1f} ms a step for messages, the others {span} ms."
    if job.lateness.pattern == "random":
        return "Ranks wait for each other, but no rank is late again and again: it changes from step to step."
    if any(waits.values()):
        return "No rank sets the pace: all of them wait for messages."
    return f"The {there} ranks are even: none keeps the others waiting."


def clock_words(recording: Recording) -> str:
    """On which clock the ranks' times are."""
    told = recording.meta.details.get("rank_clocks")
    if isinstance(told, dict):
        return str(told.get("words", ""))
    hosts = {h for h in recording.table("processes").text("host").tolist() if h}
    return (
        "one clock: all ranks ran on one host" if len(hosts) <= 1 else "clocks of several hosts, not aligned"
    )


def late_answer(late: LateRank | None) -> LateAnswer | None:
    if late is None:
        return None
    place = late.cause.place
    return LateAnswer(
        late.rank,
        late.sentence,
        late.pattern,
        late.late_ns / 1e6,
        late.sigma_ns / 1e6,
        late.late_steps,
        late.steps,
        late.cause.sentence,
        late.cause.kind,
        place.file,
        place.line,
        late.cause.excess_ns / 1e6,
        late.step_ns / 1e6,
        None if late.without_ns is None else late.without_ns / 1e6,
    )


def _rows(recording: Recording, job: Job) -> list[RankRow]:
    processes, calls = recording.table("processes"), recording.table("collectives")
    reports = {r.process: r for r in job.reports}
    found, shared = job.lateness, job.shared
    inside = np.flatnonzero(found.step_of_call >= 0)
    count = max(len(found.steps), 1)
    place = {r: i for i, r in enumerate(shared.ranks)}
    transfer, last, waits = shared.transfer_ns, shared.last, job.messages.waiting_ns
    stood_still = np.maximum(
        calls.array("waited_ns"), 0
    )  # wait() of one thread does not overlap, as calls may
    rows = []
    for at, process in enumerate(processes.array("process").tolist()):
        rank = job.rank_of.get(process)
        if rank is None:
            continue
        mine = calls.take(np.flatnonzero(calls.array("process") == process))
        sizes = mine.array("bytes")
        i = place.get(rank)
        compared = i is not None and len(inside) > 0
        report = reports.get(process)
        used = int(processes.array("cpu_user_ns")[at]), int(processes.array("cpu_system_ns")[at])
        rss, code = int(processes.array("max_rss_bytes")[at]), int(processes.array("exit_code")[at])
        local = int(processes.array("local_rank")[at])
        rows.append(
            RankRow(
                rank,
                processes.text("host")[at],
                local if local >= 0 else None,
                processes.text("job_role")[at],
                int(processes.array("pid")[at]),
                len(report.steps) if report else 0,
                report.median_ns / 1e6 if report else None,
                _mean_ms(report, found.steps) if report else None,
                len(mine),
                int(np.maximum(sizes, 0).sum()) if len(sizes) else None,
                float(found.waiting_ns[i].mean()) / 1e6 if compared else None,
                float(np.maximum(transfer[i, inside], 0).sum()) / count / 1e6 if compared else None,
                float(stood_still[shared.row[i, inside][shared.row[i, inside] >= 0]].sum()) / count / 1e6
                if compared
                else None,
                float(found.late_ns[i].mean()) / 1e6 if compared else None,
                told / 1e6 if (told := waits.get(rank)) is not None else None,
                int((last == i).sum()) if i is not None and len(shared) else None,
                sum(used) / 1e6 if min(used) >= 0 else None,
                rss if rss >= 0 else None,
                code if code != -1000 else None,
            )
        )
    return sorted(rows, key=lambda row: (row.rank, row.pid))


def _mean_ms(report: StepReport, steps: Array) -> float | None:
    wanted = set(steps.tolist())
    lengths = [s.duration_ns for s in report.steps if s.index in wanted]
    return float(np.mean(lengths)) / 1e6 if lengths else None


def _groups(recording: Recording) -> list[GroupRow]:
    groups, calls = recording.table("groups"), recording.table("collectives")
    per_group = np.bincount(
        np.maximum(calls.array("group"), 0)[calls.array("group") >= 0],
        minlength=int(groups.array("group").max(initial=-1)) + 1,
    )
    found: dict[tuple[str | None, str | None], GroupRow] = {}
    columns = [groups.text(n).tolist() for n in ("name", "description", "backend", "ranks")]
    for number, name, description, backend, ranks in zip(
        groups.array("group").tolist(), *columns, strict=True
    ):
        members = [int(r) for r in json_text.list_of(ranks) or [] if isinstance(r, int)]
        before = found.get((name, ranks))
        total = int(per_group[number]) + (before.collectives if before else 0)
        found[name, ranks] = GroupRow(name, description, backend, members, total)
    return list(found.values())
