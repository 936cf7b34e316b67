"""`sonde show REC memory`: prints the answer of `sonde.views.memory`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page, bar, sparkline
from sonde.render.text.units import count, percent, place, size
from sonde.views.memory import CURVE_POINTS, GROUPS
from sonde.views.options import ShowOptions

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


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["devices"] and not data["host"]:
        page.line("No memory was recorded: there was no profiling window, and no process was followed.")
        return
    for device in data["devices"]:
        _show_device(device, page, options)
    if not data["devices"]:
        page.line(
            "No allocations were recorded: there was no profiling window. Record one with: --window all"
        )
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
                place(g["name"]) if by == "line" else g["name"],
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
