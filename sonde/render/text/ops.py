"""`sonde show REC ops`: the operator table, with the columns that users of torch.profiler know.

With `--native`, each operator has below it where its own time went: kernels, waits, spin, page
faults, … (`sonde.render.text.native_rows`). A recording without recorded calls shows what samples say.
"""

from __future__ import annotations

import math
import re
from typing import Any

from sonde.analyze.device.launches import launched_before_trace
from sonde.analyze.ops.sampled import sample_groups, sampled_ops
from sonde.analyze.ops.table import GROUPINGS, op_groups, op_table
from sonde.analyze.samples.native_split import NativeSplit, native_split
from sonde.errors import UsageError
from sonde.render.text.native_rows import native_json, native_rows
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent, place, size
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

SORTABLE = (
    "self_ms",
    "total_ms",
    "self_wall_ms",
    "total_wall_ms",
    "preempted",
    "calls",
    "cpu_mem_bytes",
    "self_cpu_mem_bytes",
    "device_mem_bytes",
    "self_device_mem_bytes",
    "device_self_ms",
    "device_total_ms",
    "flops",
    "name",
)
TIMES = ("self_ns", "total_ns", "self_wall_ns", "total_wall_ns", "device_self_ns", "device_total_ns")
MUCH_TAKEN = 0.20  # of the recorded calls' time: from here on the first line says so
OTHER = (
    "calls",
    "preempted",
    "cpu_mem_bytes",
    "self_cpu_mem_bytes",
    "device_mem_bytes",
    "self_device_mem_bytes",
    "flops",
)


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`by`, `source` (calls or samples), `self_ms` and `device_self_ms` (the whole), `rows`: name, calls, …

    `self_ms` and `total_ms` are without the time in which the thread was ready but off the CPU, which `*_wall_ms` hold;
    `preempted` are calls from which at least half a millisecond of it was taken.
    `device_elsewhere_ms` is device time that no operator caused, `launched_before_trace_ms` the part of it that was
    launched before the trace began. `native` in a row, with `--native`.
    """
    by = options.by or "name"
    if by not in GROUPINGS:
        raise UsageError(f"--by {by!r} is not known", "use one of " + ", ".join(GROUPINGS))
    if not len(recording.table("ops")):
        return _from_samples(recording, by, options)
    rows = _rows(recording, by)
    if options.native:
        splits = _splits(recording, by)
        for row in rows:
            row["native"] = native_json(splits.get(row["group"]))
    total = {c: sum(r[c] for r in rows) for c in ("self_ms", "self_wall_ms", "device_self_ms")}
    for row in rows:
        del row["group"]
    kernels = recording.table("kernels")
    work = kernels.text("kind").matches(("kernel", "memcpy", "memset"))
    all_ms = float((kernels.array("end_ns") - kernels.array("start_ns"))[work].sum()) / 1e6
    elsewhere = max(all_ms - total["device_self_ms"], 0.0)
    old = launched_before_trace(kernels, recording.table("launches")) & (kernels.array("op") < 0)
    old_ms = float((kernels.array("end_ns") - kernels.array("start_ns"))[old].sum()) / 1e6
    outside = {"device_elsewhere_ms": elsewhere, "launched_before_trace_ms": old_ms}
    chosen = _chosen(rows, by, options)
    return {"by": by, "source": "calls", **total, **outside, "rows": chosen}


def _rows(recording: Recording, by: str) -> list[dict[str, Any]]:
    table = op_table(
        recording.table("ops"),
        recording.table("memory"),
        recording.table("kernels"),
        recording.table("marks"),
        recording.table("threads"),
        by=by,
        samples=recording.table("samples"),
    )
    names, keys, groups = (
        table.text("name").tolist(),
        table.text("key").tolist(),
        table.array("group").tolist(),
    )
    columns = {c: table.array(c).tolist() for c in (*TIMES, *OTHER)}
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        row: dict[str, Any] = {"name": name, **({} if by == "name" else {by: keys[i]})}
        row |= {c.replace("_ns", "_ms"): columns[c][i] / 1e6 for c in TIMES}
        row |= {c: columns[c][i] for c in OTHER}
        row["flops"] = None if math.isnan(row["flops"]) else row["flops"]
        rows.append({**row, "group": groups[i]})
    return rows


def _splits(recording: Recording, by: str) -> dict[int, NativeSplit]:
    ops, samples = recording.table("ops"), recording.table("samples")
    stacks, frames = recording.table("stacks"), recording.table("frames")
    groups = op_groups(ops, by, recording.table("marks"), recording.table("threads"))
    return native_split(sample_groups(samples, ops, groups, stacks, frames, by), samples, stacks, frames)


def _from_samples(recording: Recording, by: str, options: ShowOptions) -> dict[str, Any]:
    """No call was recorded: the sampled stacks still name operators. Calls and memory are not known."""
    samples, stacks, frames = (recording.table(n) for n in ("samples", "stacks", "frames"))
    table, group = sampled_ops(samples, stacks, frames)
    splits = native_split(group, samples, stacks, frames) if options.native else {}
    unknown = {c.replace("_ns", "_ms"): None for c in (*TIMES[2:], *OTHER)}
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(table.text("name").tolist()):
        times = {c.replace("_ns", "_ms"): int(table.array(c)[i]) / 1e6 for c in ("self_ns", "total_ns")}
        row: dict[str, Any] = {"name": name, **times, **unknown, "samples": int(table.array("samples")[i])}
        rows.append({**row, "native": native_json(splits.get(i))} if options.native else row)
    if rows and by != "name":
        raise UsageError(
            f"--by {by} needs recorded calls, and no deep window fell into this run",
            "record every step with: sonde run --window all …",
        )
    whole = sum(r["self_ms"] for r in rows)
    empty = {"device_self_ms": 0.0, "device_elsewhere_ms": 0.0, "launched_before_trace_ms": 0.0}
    return {
        "by": by,
        "source": "samples",
        "self_ms": whole,
        "self_wall_ms": None,
        **empty,
        "rows": _chosen(rows, by, options),
    }


def _chosen(rows: list[dict[str, Any]], by: str, options: ShowOptions) -> list[dict[str, Any]]:
    if options.filter:
        try:
            pattern = re.compile(options.filter)
        except re.error as error:
            raise UsageError(f"--filter {options.filter!r} is not a regular expression: {error}") from None
        rows = [r for r in rows if pattern.search(f"{r['name']} {r.get(by, '')}")]
    if options.op:
        rows = [r for r in rows if r["name"] == options.op]
    sort = options.sort or "self_ms"
    if sort not in SORTABLE:
        raise UsageError(f"cannot sort by {sort!r}", "use one of " + ", ".join(SORTABLE))
    if sort == "name":
        return sorted(rows, key=lambda r: str(r["name"]))
    return sorted(rows, key=lambda r: -(r[sort] or 0))


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows, by = data["rows"], data["by"]
    if not rows:
        page.line("No operators: no deep window fell into this run, and no sampled stack names one.")
        page.line("Sampled functions are in: sonde show REC stacks.  Record every step with: --window all")
        return
    taken = _taken_share(data)
    if taken >= MUCH_TAKEN:
        page.line(
            f"The machine was busy in the deep windows: {percent(taken)} of the calls' time was ready but off the CPU "
            "and is not in Self CPU."
        )
    shown = rows[: options.rows()]
    device = data["device_self_ms"] > 0
    memory = any(r["cpu_mem_bytes"] for r in rows)
    columns = _columns(data, by, memory, device, options.native)
    if options.native:
        page.table(columns, [cells for r in shown for cells in native_rows(r, _cells_native(r, data, by))])
    else:
        page.table(columns, [_cells(r, data, by, memory, device) for r in shown])
    if len(rows) > len(shown):
        page.line(f"{len(rows) - len(shown)} more rows (use --limit)")
    line = f"Self CPU time total: {milliseconds(data['self_ms'])}"
    line += f"   Self device time total: {milliseconds(data['device_self_ms'])}" if device else ""
    if data["device_elsewhere_ms"] > 1e-6:
        line += f", and {milliseconds(data['device_elsewhere_ms'])} that no recorded operator caused"
    if data["launched_before_trace_ms"]:
        line += f" (launched before the trace began: {milliseconds(data['launched_before_trace_ms'])})"
    page.line(line)
    if data["source"] == "samples":
        page.line(
            "From sampled stacks: no deep window fell into this run, so calls and memory are not known."
        )
    if options.native:
        whole_run = "all samples of the run" if by == "name" else "the samples inside deep windows"
        page.line(f"Below each operator: its own on-CPU time by {whole_run}; “of op” with its 95 % interval.")
    following = GROUPINGS[(GROUPINGS.index(by) + 1) % len(GROUPINGS)]
    page.next(
        f"sonde show {options.name} ops --by {following}"
        if options.native
        else f"sonde show {options.name} ops --native",
        *([f"sonde show {options.name} chain --op {shown[0]['name']}"] if shown else []),
    )


def _columns(data: dict[str, Any], by: str, memory: bool, device: bool, native: bool) -> list[Column]:
    columns = [Column("Name", fold=True)] + ([] if by == "name" else [Column(by.capitalize(), fold=True)])
    if native:
        titles = ("Self CPU %", "Self CPU", "of op", "95 %", "samples")
        return [*columns, *(Column(t, right=True) for t in titles), Column("# of Calls", right=True, spare=1)]
    if data["source"] == "samples":
        return columns + [Column(t, right=True) for t in ("Self CPU %", "Self CPU", "CPU total", "samples")]
    columns += [Column("Self CPU %", right=True), Column("Self CPU", right=True)]
    if _taken_share(data) > 0:
        columns += [Column("Self wall", right=True), Column("Preempted", right=True, spare=2)]
    columns += [Column("CPU total %", right=True, spare=4), Column("CPU total", right=True)]
    columns += [Column("CPU time avg", right=True, spare=1)]
    if memory:
        columns += [Column("CPU Mem", right=True, spare=3), Column("Self CPU Mem", right=True, spare=2)]
    if device:
        columns += [Column("Self device %", right=True, spare=3)]
        columns += [Column("Self device", right=True), Column("Device total", right=True, spare=2)]
    return [*columns, Column("# of Calls", right=True)]


def _taken_share(data: dict[str, Any]) -> float:
    """Of the recorded calls' wall time: ready but off the CPU."""
    wall = data["self_wall_ms"]
    return 1 - data["self_ms"] / wall if wall else 0.0


def _key(key: str | None, by: str) -> str:
    return "–" if not key else place(key) if by == "line" else key


def _cells(row: dict[str, Any], data: dict[str, Any], by: str, memory: bool, device: bool) -> list[str]:
    cells = [row["name"] or "?"] + ([] if by == "name" else [_key(row[by], by)])
    whole = data["self_ms"] or 1.0
    cells += [percent(row["self_ms"] / whole), milliseconds(row["self_ms"])]
    if data["source"] == "samples":
        return [*cells, milliseconds(row["total_ms"]), count(row["samples"])]
    if _taken_share(data) > 0:
        cells += [milliseconds(row["self_wall_ms"]), count(row["preempted"])]
    average = row["total_ms"] / row["calls"] if row["calls"] else 0.0
    cells += [percent(row["total_ms"] / whole), milliseconds(row["total_ms"]), milliseconds(average)]
    cells += [size(row["cpu_mem_bytes"]), size(row["self_cpu_mem_bytes"])] if memory else []
    if device:
        cells += [percent(row["device_self_ms"] / data["device_self_ms"])]
        cells += [milliseconds(row["device_self_ms"]), milliseconds(row["device_total_ms"])]
    return [*cells, count(row["calls"])]


def _cells_native(row: dict[str, Any], data: dict[str, Any], by: str) -> list[str]:
    cells = [row["name"] or "?"] + ([] if by == "name" else [_key(row[by], by)])
    share = percent(row["self_ms"] / (data["self_ms"] or 1.0))
    seen = row["native"]["samples"] if row["native"] else 0
    calls = "–" if row["calls"] is None else count(row["calls"])
    return [*cells, share, milliseconds(row["self_ms"]), "", "", count(seen), calls]
