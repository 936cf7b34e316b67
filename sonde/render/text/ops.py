"""`sonde show REC ops`: the operator table, with the columns that users of torch.profiler know."""

from __future__ import annotations

import re
from typing import Any

from sonde.analyze.op_table import GROUPINGS, op_table
from sonde.errors import UsageError
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent, size
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

SORTABLE = ("self_ms", "total_ms", "calls", "cpu_mem_bytes", "self_cpu_mem_bytes", "device_self_ms", "flops")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`by`, `self_ms` and `device_self_ms` (the whole), `rows`: name, calls, self_ms, total_ms, …"""
    by = options.by or "name"
    table = op_table(
        recording.table("ops"),
        recording.table("memory"),
        recording.table("kernels"),
        recording.table("marks"),
        recording.table("threads"),
        by=by,
    )
    names, keys = table.text("name").tolist(), table.text("key").tolist()
    whole = ("self_ns", "total_ns", "device_self_ns", "device_total_ns")
    other = (
        "calls",
        "cpu_mem_bytes",
        "self_cpu_mem_bytes",
        "device_mem_bytes",
        "self_device_mem_bytes",
        "flops",
    )
    columns = {c: table.array(c).tolist() for c in (*whole, *other)}
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        row: dict[str, Any] = {"name": name, **({} if by == "name" else {by: keys[i]})}
        row |= {c.replace("_ns", "_ms"): columns[c][i] / 1e6 for c in whole}
        row |= {c: columns[c][i] for c in other}
        rows.append(row)
    total = {f"{c}": sum(r[c] for r in rows) for c in ("self_ms", "device_self_ms")}
    return {"by": by, **total, "rows": _chosen(rows, by, options)}


def _chosen(rows: list[dict[str, Any]], by: str, options: ShowOptions) -> list[dict[str, Any]]:
    if options.filter:
        try:
            pattern = re.compile(options.filter)
        except re.error as error:
            raise UsageError(f"--filter {options.filter!r} is not a regular expression: {error}") from None
        rows = [r for r in rows if pattern.search(f"{r['name']} {r.get(by, '')}")]
    sort = options.sort or "self_ms"
    if sort not in SORTABLE:
        raise UsageError(f"cannot sort by {sort!r}", "use one of " + ", ".join(SORTABLE))
    return sorted(rows, key=lambda r: -r[sort])


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    rows, by = data["rows"], data["by"]
    if not rows:
        page.line("No operator calls were recorded: no deep window fell into this run.")
        page.line("Sampled operators are in: sonde show REC stacks.  Record every step with: --window all")
        return
    device = data["device_self_ms"] > 0
    memory = any(r["cpu_mem_bytes"] for r in rows)
    columns = [Column("Name", fold=True)] + ([] if by == "name" else [Column(by.capitalize(), fold=True)])
    columns += [Column(t, right=True) for t in ("Self CPU %", "Self CPU", "CPU total", "CPU time avg")]
    columns += [Column(t, right=True) for t in ("CPU Mem", "Self CPU Mem")] if memory else []
    columns += [Column(t, right=True) for t in ("Self device", "Device total")] if device else []
    columns += [Column("# of Calls", right=True)]
    shown = rows[: options.limit]
    page.table(columns, [_cells(r, data, by, memory, device) for r in shown])
    if len(rows) > len(shown):
        page.line(f"… and {len(rows) - len(shown)} rows more (--limit)")
    line = f"Self CPU time total: {milliseconds(data['self_ms'])}"
    page.line(line + (f"   Self device time total: {milliseconds(data['device_self_ms'])}" if device else ""))
    page.next(f"sonde show {options.name} ops --by {GROUPINGS[(GROUPINGS.index(by) + 1) % len(GROUPINGS)]}")


def _cells(row: dict[str, Any], data: dict[str, Any], by: str, memory: bool, device: bool) -> list[str]:
    cells = [row["name"] or "?"] + ([] if by == "name" else [row[by] or "–"])
    cells += [
        percent(row["self_ms"] / data["self_ms"] if data["self_ms"] else 0.0),
        milliseconds(row["self_ms"]),
        milliseconds(row["total_ms"]),
        milliseconds(row["total_ms"] / row["calls"] if row["calls"] else 0.0),
    ]
    cells += [size(row["cpu_mem_bytes"]), size(row["self_cpu_mem_bytes"])] if memory else []
    cells += [milliseconds(row["device_self_ms"]), milliseconds(row["device_total_ms"])] if device else []
    return [*cells, count(row["calls"])]
