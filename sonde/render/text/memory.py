"""`sonde show REC memory`: running total and peak per device, what was alive at the peak, growth over steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.analyze.memory.growth import counter_growth
from sonde.analyze.memory.timeline import Peak, alive_by, blocks, peaks, running_total
from sonde.columns import Array, Table
from sonde.errors import UsageError
from sonde.render.text.page import Column, Page, bar, sparkline
from sonde.render.text.units import count, percent, place, size
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

CURVE_POINTS = 48
GROUPS = ("op", "module", "line")
TITLES = {
    "parameter": "parameters",
    "gradient": "gradients",
    "optimizer_state": "optimizer state",
    "activation": "activations",
    "input": "inputs",
    "temporary": "temporaries",
    "unknown": "other, not known",
}
SHOWN = 6


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`devices`: peak and what was alive at it, with a curve; `host`: resident memory; `growth` per step."""
    if options.by not in (None, *GROUPS):
        raise UsageError(f"--by {options.by!r} is not known here", "use one of " + ", ".join(GROUPS))
    memory, marks, threads = (recording.table(n) for n in ("memory", "marks", "threads"))
    ops, found = recording.table("ops"), blocks(memory, marks, threads)
    devices = [_device(peak, found, memory, ops, marks) for peak in peaks(memory, marks, threads=threads)]
    return {"devices": devices, "host": _host(recording), "growth": _growth(recording)}


def _device(peak: Peak, found: Table, memory: Table, ops: Table, marks: Table) -> dict[str, Any]:
    mine = found.take((found.array("process") == peak.process) & found.text("device").equals(peak.device))
    window = int(mine.array("window")[_nearest(mine.array("start_ns"), peak.time_ns)])
    times, total = running_total(mine.take(mine.array("window") == window), peak.device)
    told = memory.take(memory.text("device").equals(peak.device))
    allocator = peak.device != "cpu"  # the CPU's running total begins with the profiler, so it says nothing
    return {
        "process": peak.process,
        "device": peak.device,
        "peak_bytes": peak.total_bytes,
        "seen_bytes": peak.bytes,
        "base_bytes": peak.base_bytes,
        "time_ns": peak.time_ns,
        "step": _step(marks, peak),
        "allocated_bytes": _largest(told.array("allocated_bytes")) if allocator else None,
        "reserved_bytes": _largest(told.array("reserved_bytes")) if allocator else None,
        "by_category": dict(sorted(peak.by_category.items(), key=lambda item: -item[1])),
        **{
            f"by_{by}": [
                {by: name, "bytes": held, "blocks": number} for name, held, number in alive_by(peak, ops, by)
            ]
            for by in GROUPS
        },
        "curve": _curve(times, total + peak.base_bytes),
    }


def _nearest(start: Array, time_ns: int) -> int:
    """Row of the block that began last before the moment; blocks are in order of begin."""
    return max(int(np.searchsorted(start, time_ns, side="right")) - 1, 0)


def _largest(values: Array) -> int | None:
    return int(values.max()) if len(values) and int(values.max()) >= 0 else None


def _step(marks: Table, peak: Peak) -> int | None:
    hit = (
        marks.text("kind").equals("step")
        & (marks.array("process") == peak.process)
        & (marks.array("start_ns") <= peak.time_ns)
        & (marks.array("end_ns") > peak.time_ns)
    )
    rows = np.flatnonzero(hit)
    return int(marks.array("number")[rows[0]]) if len(rows) else None


def _curve(times: Array, total: Array) -> dict[str, Any]:
    """The largest total in each of equal stretches of the window."""
    if not len(times):
        return {"start_ns": 0, "end_ns": 0, "bytes": []}
    first, last = int(times[0]), int(times[-1])
    slot = ((times - first) * CURVE_POINTS // max(last - first + 1, 1)).astype(np.int64)
    points = np.zeros(CURVE_POINTS, np.int64)
    np.maximum.at(points, slot, total)
    # A stretch without an event holds what the one before it ended with.
    ends = np.full(CURVE_POINTS, -1, np.int64)
    ends[slot] = np.arange(len(total))
    carried = 0
    for i in range(CURVE_POINTS):
        points[i] = max(int(points[i]), carried)
        carried = int(total[ends[i]]) if ends[i] >= 0 else carried
    return {"start_ns": first, "end_ns": last, "bytes": points.tolist()}


def _host(recording: Recording) -> list[dict[str, Any]]:
    """Resident memory over time. Processes that were not sampled (helpers, short children) are in `processes` alone."""
    counters, processes = recording.table("counters"), recording.table("processes")
    rows = []
    for i, process in enumerate(processes.array("process").tolist()):
        mine = counters.take(
            counters.text("name").equals("rss_bytes") & (counters.array("process") == process)
        )
        order = np.argsort(mine.array("time_ns"), kind="stable")
        values = mine.array("value")[order]
        highest = int(processes.array("max_rss_bytes")[i])
        if not len(values) and (highest < 0 or processes.text("engine")[i] is None):
            continue
        rows.append(
            {
                "process": process,
                "pid": int(processes.array("pid")[i]),
                "role": processes.text("role")[i],
                "max_rss_bytes": highest if highest >= 0 else None,
                "rss_bytes": [int(v) for v in values],
            }
        )
    return rows


def _growth(recording: Recording) -> list[dict[str, Any]]:
    counters, marks = recording.table("counters"), recording.table("marks")
    rows = []
    for process in recording.table("processes").array("process").tolist():
        found = counter_growth(counters, marks, process)
        if found:
            rows.append(
                {
                    "process": process,
                    "name": found.name,
                    "steps": found.steps,
                    "bytes_per_step": found.slope_bytes,
                    "low": found.low_bytes,
                    "high": found.high_bytes,
                    "grows": found.grows,
                }
            )
    return rows


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["devices"] and not data["host"]:
        page.line("No memory was recorded: no deep window fell into this run, and no process was followed.")
        return
    for device in data["devices"]:
        _show_device(device, page, options)
    if not data["devices"]:
        page.line("No allocations were recorded: no deep window fell into this run (--window all).")
    for host in data["host"]:
        _show_host(host, data, page)
    page.next(
        f"sonde show {options.name} ops --sort self_cpu_mem_bytes", f"sonde report {options.name} --open"
    )


def _show_device(device: dict[str, Any], page: Page, options: ShowOptions) -> None:
    step = f", in step {device['step']}" if device["step"] is not None else ""
    owner = f"process {device['process']}, " if device["process"] else ""
    page.heading(
        f"{owner}{device['device']}: peak {size(device['peak_bytes'])} in use by the framework{step}"
    )
    curve = device["curve"]
    if curve["bytes"]:
        length = (curve["end_ns"] - curve["start_ns"]) / 1e6
        page.line(f"  {sparkline([float(b) for b in curve['bytes']])}  0 to peak, over {length:,.0f} ms")
    if device["base_bytes"]:
        page.line(f"  {size(device['base_bytes'])} of it is older than the window, and stays")
    if device["allocated_bytes"] is not None:
        held = size(device["reserved_bytes"]) if device["reserved_bytes"] is not None else "–"
        page.line(
            f"  by the allocator itself: {size(device['allocated_bytes'])} allocated, {held} reserved at most"
        )
    page.line()
    whole = device["peak_bytes"] or 1
    rows = [
        (TITLES.get(n, n), size(b), percent(b / whole), bar(b / whole))
        for n, b in device["by_category"].items()
    ]
    titles = [
        Column("alive at the peak"),
        Column("bytes", right=True),
        Column("share", right=True),
        Column(""),
    ]
    page.table(titles, rows)
    wanted = [options.by] if options.by else list(GROUPS)
    limit = options.rows() if options.by else options.rows(SHOWN)
    for by in wanted:
        groups = device[f"by_{by}"]
        page.line()
        shown = [
            (
                place(g[by]) if by == "line" else g[by],
                size(g["bytes"]),
                percent(g["bytes"] / whole),
                count(g["blocks"]),
            )
            for g in groups[:limit]
        ]
        columns = [Column(f"made by {by}", fold=True)]
        columns += [Column(t, right=True) for t in ("bytes", "share", "blocks")]
        page.table(columns, shown)
        if len(groups) > len(shown):
            page.line(f"… and {len(groups) - len(shown)} more (--by {by} --limit N)")
    page.line()


def _show_host(host: dict[str, Any], data: dict[str, Any], page: Page) -> None:
    values = [float(v) for v in host["rss_bytes"]]
    highest = host["max_rss_bytes"] if host["max_rss_bytes"] is not None else max(values, default=0.0)
    page.heading(f"{host['role'] or 'process'} {host['pid']}: resident memory, at most {size(highest)}")
    if values:
        page.line(f"  {sparkline(values, CURVE_POINTS)}  0 to {size(max(values))}, over the run")
    for row in data["growth"]:
        if row["process"] != host["process"]:
            continue
        interval = f"95 %: {size(row['low'])} to {size(row['high'])}"
        verdict = "it grows" if row["grows"] else "no growth that can be told from noise"
        steps = f"{size(row['bytes_per_step'])} per step over the last {count(row['steps'])} steps"
        page.line(f"  {steps} ({interval}): {verdict}")
