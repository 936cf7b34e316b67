"""`sonde show REC ops`: prints the answer of `sonde.views.ops`."""

from __future__ import annotations

from typing import Any

from sonde.analyze.ops.table import GROUPINGS
from sonde.render.text.apart import say_apart
from sonde.render.text.native_rows import native_rows
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent, place, size
from sonde.views.options import ShowOptions

MUCH_TAKEN = 0.20  # of the recorded calls' time: from here on the first line says so


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows, by = data["rows"], data["by"]
    if not rows:
        page.line("No operators: there was no profiling window, and no sampled stack names one.")
        page.line("Sampled functions are in: sonde show REC stacks.  Record every step with: --window all")
        return
    taken = _taken_share(data)
    if taken >= MUCH_TAKEN:
        page.line(
            f"The machine was busy during the profiling windows: for {percent(taken)} of the calls' time the thread "
            "was ready but off the CPU. Self CPU leaves that out."
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
        page.line("From sampled stacks: no profiling window was recorded, so calls and memory are not known.")
    if data["apart"]:
        say_apart(data["apart"], "on the CPU", page)
    if options.native:
        whole_run = "all samples of the run" if by == "name" else "the samples inside profiling windows"
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
    cells = [row["name"] or "?"] + ([] if by == "name" else [_key(row["key"], by)])
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
    cells = [row["name"] or "?"] + ([] if by == "name" else [_key(row["key"], by)])
    share = percent(row["self_ms"] / (data["self_ms"] or 1.0))
    seen = row["native"]["samples"] if row["native"] else 0
    calls = "–" if row["calls"] is None else count(row["calls"])
    return [*cells, share, milliseconds(row["self_ms"]), "", "", count(seen), calls]
