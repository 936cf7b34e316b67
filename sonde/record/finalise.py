"""Raw logs → the tables of a finished recording. `sonde run` and `sonde recover` end here.

Enters: a folder with `raw/`. Leaves: tables on disk, a complete `meta.json`, no `raw/` unless
asked to keep it. Nothing is removed before everything is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from sonde.analyze.join import sample_ops, sample_steps, stack_operators
from sonde.columns import Table
from sonde.errors import InputError
from sonde.record.framework import Framework, framework_tables
from sonde.record.inductor import with_kernel_names
from sonde.record.launch import LaunchResult, read_unfollowed
from sonde.record.surroundings import epoch_offset
from sonde.store import build
from sonde.store.assemble import ProcessFacts, assemble
from sonde.store.assemble.modules import read_module_names
from sonde.store.meta import Meta
from sonde.store.raw import RawLog
from sonde.store.rawlog import read_raw_log
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.writer import write_tables
from sonde.symbols.resolver import Resolver

Loss = tuple[int, str, int, str, str]  # process, cause, count, unit, detail


def recover(folder: Path) -> Recording:
    """Finish a recording from its raw logs, after a crash or again."""
    raw = folder / "raw"
    if not folder.is_dir():
        raise InputError(f"{folder} is not a recording folder")
    if not raw.is_dir():
        if (folder / "meta.json").exists() and Meta.read(folder).complete:
            raise InputError(f"{folder} is finished already and has no raw logs", f"sonde report {folder}")
        raise InputError(f"{folder} has no raw logs to recover from")
    meta = Meta.read(folder) if (folder / "meta.json").exists() else Meta(source="run", program=folder.stem)
    return finalise(folder, meta, None, keep_raw=True)


def finalise(folder: Path, meta: Meta, result: LaunchResult | None, keep_raw: bool) -> Recording:
    """Write the tables of `folder` from its raw logs; `result` is None when Sonde did not see the end."""
    raw = folder / "raw"
    logs, losses = _read_logs(raw)
    for child in read_unfollowed(folder):
        losses.append((-1, "not_followed", 1, "processes", f"{child.program}: {child.reason}"))
    tables = _tables(raw, logs, result)
    framework = framework_tables(raw, tables["processes"], tables["threads"])
    tables = _with_framework(tables, framework)
    tables["losses"] = build.concat(
        "losses", [tables["losses"], framework.tables["losses"], _loss_table(losses)]
    )
    write_tables(folder, tables.values())
    finished = _finished(meta, logs, tables, framework, result)
    finished.write(folder)
    if not keep_raw:
        shutil.rmtree(raw)
    return open_recording(folder)


def _read_logs(raw: Path) -> tuple[list[RawLog], list[Loss]]:
    logs: list[RawLog] = []
    losses: list[Loss] = []
    for path in sorted(raw.glob("*.slog")):
        try:
            logs.append(read_raw_log(path))
        except InputError as error:
            losses.append((-1, "log_unreadable", path.stat().st_size, "bytes", error.message))
    return logs, losses


def _tables(raw: Path, logs: list[RawLog], result: LaunchResult | None) -> dict[str, Table]:
    pids = {log.header.pid for log in logs}
    modules = {pid: read_module_names(raw / f"{pid}.modules.jsonl") for pid in pids}
    facts = {result.pid: ProcessFacts(exit_code=result.exit_code)} if result else {}
    return assemble(logs, Resolver(), modules, facts)


def _with_framework(tables: dict[str, Table], framework: Framework) -> dict[str, Table]:
    """What the framework told beside what was sampled, and each sample's operator call and step."""
    told = framework.tables
    marks = build.concat("marks", [tables["marks"], told["marks"]])
    marks = marks.with_columns(mark=np.arange(len(marks), dtype=np.int32))
    apart = ("marks", "losses", "counters")
    joined = {**tables, **{n: t for n, t in told.items() if n not in apart}, "marks": marks}
    joined["counters"] = build.concat("counters", [tables["counters"], told["counters"]])
    joined["frames"] = with_kernel_names(joined["frames"], marks)
    samples = joined["samples"]
    joined["samples"] = samples.with_columns(
        op=sample_ops(samples, joined["ops"], stack_operators(samples, joined["stacks"], joined["frames"])),
        step=sample_steps(samples, marks, joined["threads"]),
    )
    return joined


def _loss_table(losses: Iterable[Loss]) -> Table:
    rows = list(losses)
    process, cause, count, unit, detail = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return build.table("losses", process=process, cause=cause, count=count, unit=unit, detail=detail)


def _finished(
    meta: Meta,
    logs: list[RawLog],
    tables: dict[str, Table],
    framework: Framework,
    result: LaunchResult | None,
) -> Meta:
    offset, _ = epoch_offset()
    processes = tables["processes"]
    first = int(processes.array("start_ns").min()) if len(processes) else 0
    last = int(processes.array("end_ns").max()) if len(processes) else 0
    span_ns = result.end_ns - result.start_ns if result else last - first
    sources = {**meta.clock.sources, "kineto": framework.clock_uncertainty_ns}
    statistics = {str(log.header.pid): log.statistics for log in logs if log.statistics}
    used = ("user_ns", "system_ns", "max_rss_bytes")
    usage = {name: getattr(result, name) for name in used} if result else {}
    return replace(
        meta,
        complete=True,
        duration_s=span_ns / 1e9,
        exit_code=result.exit_code if result else None,
        versions={**meta.versions, **framework.versions},
        clock=replace(meta.clock, epoch_offset_end_ns=offset, sources=sources),
        details={
            **meta.details,
            **framework.details,
            "agent": statistics,
            "rusage": usage,
            "windows": framework.windows,
        },
    )
