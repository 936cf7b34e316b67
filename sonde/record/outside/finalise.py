"""Raw logs → the tables of a finished recording. `sonde run` and `sonde recover` end here.

Enters: a folder with `raw/`. Leaves: tables on disk, a complete `meta.json`, no `raw/` unless
asked to keep it or a process still writes into it. Nothing is removed before everything is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.analyze.recording.account import WAITED, account
from sonde.columns import Table
from sonde.errors import InputError
from sonde.ingest.agent import ProcessFacts, assemble
from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.ended import read_ended, with_ended
from sonde.ingest.agent.generated import with_functions
from sonde.ingest.agent.log import RawLog
from sonde.ingest.agent.modules import module_names, raw_modules
from sonde.link import link_recording
from sonde.record.frameworks.collect import Told, framework_tables
from sonde.record.outside.adopted import Left
from sonde.record.outside.launch import LaunchResult, read_unfollowed
from sonde.record.outside.ring import within_rings
from sonde.record.outside.sources import source_table
from sonde.record.outside.surroundings import epoch_offset
from sonde.store import build
from sonde.store.files import FILE_NAME, Folder, make_private
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.writer import write_tables
from sonde.symbols.resolver import Resolver


def recover(folder: Path, source: bool = False, goes_on: bool = False) -> Recording:
    """Finish a recording from its raw logs, after a crash or again, or (`goes_on`) a copy of one in progress.

    Source files are taken only if asked for: they may have changed, and the recording may be someone else's.
    """
    raw = folder / rawfolder.FOLDER
    if not folder.is_dir():
        raise InputError(f"{folder} is not a recording folder")
    if not raw.is_dir():
        if (folder / "meta.json").exists() and Meta.read(folder).complete:
            raise InputError(f"{folder} is finished already and has no raw logs", f"sonde report {folder}")
        raise InputError(f"{folder} has no raw logs to recover from")
    known = _check_files(Folder(folder))
    meta = Meta.read(folder) if FILE_NAME in known else Meta(source="run", program=folder.stem)
    return finalise(folder, meta, _known_result(meta), keep_raw=True, source=source, goes_on=goes_on)


def _check_files(files: Folder) -> list[str]:
    """Their names. All are regular files: a link would lead elsewhere, a FIFO would be waited for without end."""
    names = files.names()
    for name in names:
        os.close(files.open(name))
    return names


def finalise(
    folder: Path,
    meta: Meta,
    result: LaunchResult | None,
    keep_raw: bool,
    source: bool = True,
    ours: bool = False,
    goes_on: bool = False,
    progress: Callable[[str], None] = lambda stage: None,
) -> Recording:
    """Write the tables of `folder` from its raw logs; `result` is None when Sonde did not see the end.

    `ours`: the program has just ended under our eyes, so its tables are given as they were made. Those of a folder
    that comes from elsewhere are read and checked like any recording's. `progress` is told each stage.
    """
    raw = folder / rawfolder.FOLDER
    if result:  # for `sonde recover`, should what follows fail
        meta = replace(meta, exit_code=result.exit_code, details={**meta.details, "launch": asdict(result)})
        _try_write(meta, folder)
    progress("reading the logs")
    logs, losses = _read_logs(raw)
    progress(f"naming functions in {len(logs)} log{'s' if len(logs) != 1 else ''}")
    tables = _tables(raw, logs, result)
    progress("linking operators and samples")
    framework = framework_tables(raw, tables["processes"], tables["threads"])
    joined = _with_framework(tables, framework)
    joined["marks"] = within_rings(joined["marks"], joined["processes"], logs)
    tables = link_recording(joined)
    tables["processes"] = with_ended(tables["processes"], read_ended(raw))
    if result and not any(log.cut for log in logs):  # the system's count is of the whole life
        tables["counters"] = build.concat("counters", [tables["counters"], _waited(tables, result)])
    losses += _process_losses(folder, logs, tables, result, goes_on)
    tables["losses"] = build.concat(
        "losses", [tables["losses"], framework.tables["losses"], loss_table(losses)]
    )
    tables["sources"] = source_table(tables, meta, _texts(raw)) if source else build.empty("sources")
    progress("writing the tables")
    write_tables(folder, tables.values())
    finished = _finished(meta, logs, tables, framework, result)
    finished.write(folder)
    if not keep_raw and not (result and result.left):
        shutil.rmtree(raw)
    make_private(folder)
    recording = open_recording(folder)
    return recording.holding(tables) if ours else recording


def _texts(raw: Path) -> dict[str, str]:
    """Name and text of what is no file: the program (`python -c`, standard input), a notebook's cells."""
    found: list[tuple[object, object]] = []
    for path in [raw / rawfolder.UNNAMED_SCRIPT, *(file.path for file in rawfolder.CELLS.find(raw))]:
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
            told = json.loads(path.read_text(encoding="utf-8"))
            found += told.items() if isinstance(told, dict) else [(told[0], told[1])]
    return {name: text for name, text in found if isinstance(name, str) and isinstance(text, str)}


def _try_write(meta: Meta, folder: Path) -> None:
    with contextlib.suppress(OSError):  # a full disk: the tables will tell
        meta.write(folder)


def _known_result(meta: Meta) -> LaunchResult | None:
    """What `sonde run` saw of the end, as it wrote it down; processes that have ended since are left out."""
    kept = meta.details.get("launch")
    if not isinstance(kept, dict):
        return None
    try:
        outlived = tuple(Left(**one) for one in kept["outlived"])
        left = tuple(one for one in outlived if one.is_running())
        return LaunchResult(**{**kept, "left": left, "outlived": outlived})
    except (TypeError, KeyError):
        return None


def _waited(tables: dict[str, Table], result: LaunchResult) -> Table:
    """What the system counted for all processes that were waited for, and those that cannot be: they still ran."""
    processes = tables["processes"]
    apart = np.isin(processes.array("pid"), [one.pid for one in result.outlived])
    used = processes.array("cpu_user_ns") + processes.array("cpu_system_ns")
    total_ns = result.user_ns + result.system_ns + result.adopted_ns + int(used[apart & (used > 0)].sum())
    return build.table("counters", time_ns=[result.end_ns], process=[-1], name=[WAITED], value=[total_ns])


def _process_losses(
    folder: Path, logs: list[RawLog], tables: dict[str, Table], result: LaunchResult | None, goes_on: bool
) -> list[Loss]:
    """Processes that were not recorded, or not to their end, and the CPU time that is missing."""
    losses: list[Loss] = []
    unfollowed = read_unfollowed(folder)
    for (program, reason), number in Counter((one.program, one.reason) for one in unfollowed).items():
        losses.append(Loss(-1, "not_followed", number, "processes", f"{program}: {reason}"))
    left = result.left if result else ()
    for one in left:
        why = f"{one.pid} ({one.program}); when it has ended: sonde recover {folder.name}"
        losses.append(Loss(-1, "still_running", 1, "processes", why))
    running = {one.pid for one in left}
    cut = [log.header.pid for log in logs if log.footer is None and log.header.pid not in running]
    if cut and not goes_on:
        why = f"killed, crashed or ended while attached to, the first is {cut[0]}: up to half a second is missing"
        losses.append(Loss(-1, "log_without_end", len(cut), "processes", why))
    seen = account(tables)
    processes = tables["processes"]
    logged = {log.header.pid for log in logs} | {one.pid for one in unfollowed}
    short = int(
        (~np.isin(processes.array("pid"), list(logged)) & (processes.array("cpu_user_ns") >= 0)).sum()
    )
    if short:
        why = "ended before they were sampled: only their CPU time is known"
        losses.append(Loss(-1, "too_short", short, "processes", why))
    if seen.is_missing:
        why = f"{seen.missing_ns / 1e9:.2f} s of {(seen.whole_ns or 0) / 1e9:.2f} s of CPU time are in no sample: "
        why += "of processes that were killed or not followed, or the log could not be written"
        losses.append(Loss(-1, "cpu_ms_missing", round(seen.missing_ns / 1e6), "ms", why))
    if seen.is_surplus:
        why = "samples stand for more CPU time than the system counted for their process"
        losses.append(Loss(-1, "cpu_ms_too_many", round(seen.surplus_ns / 1e6), "ms", why))
    return losses


def _read_logs(raw: Path) -> tuple[list[RawLog], list[Loss]]:
    logs: list[RawLog] = []
    losses: list[Loss] = []
    for _, _, path in rawfolder.LOG.find(raw):
        try:
            logs.append(with_functions(read_raw_log(path), path))
        except InputError as error:
            losses.append(Loss(-1, "log_unreadable", 1, "logs", error.message))
    return logs, losses


def _tables(raw: Path, logs: list[RawLog], result: LaunchResult | None) -> dict[str, Table]:
    pids = {log.header.pid for log in logs}
    modules = {pid: raw_modules(module_names(raw / rawfolder.MODULES.name(pid))) for pid in pids}
    facts = {result.pid: ProcessFacts(exit_code=result.exit_code)} if result else {}
    return assemble(logs, Resolver(), modules, facts)


def _with_framework(tables: dict[str, Table], framework: Told) -> dict[str, Table]:
    """What the framework told beside what was sampled."""
    told = framework.tables
    marks = build.concat("marks", [tables["marks"], told["marks"]])
    marks = marks.with_columns(mark=np.arange(len(marks), dtype=np.int32))
    apart = ("marks", "losses", "counters")
    joined = {**tables, **{n: t for n, t in told.items() if n not in apart}, "marks": marks}
    joined["counters"] = build.concat("counters", [tables["counters"], told["counters"]])
    return joined


def _finished(
    meta: Meta,
    logs: list[RawLog],
    tables: dict[str, Table],
    framework: Told,
    result: LaunchResult | None,
) -> Meta:
    offset, _ = epoch_offset()
    processes = tables["processes"]
    first = int(processes.array("start_ns").min()) if len(processes) else 0
    last = int(processes.array("end_ns").max()) if len(processes) else 0
    cut = any(log.cut for log in logs)
    span_ns = result.end_ns - result.start_ns if result and not cut else last - first
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
            **({"kept_of_s": (result.end_ns - result.start_ns) / 1e9} if result and cut else {}),
        },
    )
