"""The lists of `sonde show REC gpu`, one function each: kernels, launches, calls, waits, copies, memory, rates.

Enters: one entry of `ranks` of the view's data. Leaves: a heading and a table, or nothing where the trace has
nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent, size
from sonde.views.options import ShowOptions

KERNELS = 12  # rows of the list of kernels where nobody asked for more
SHORT = 8  # rows of the lists after it
STRETCHES = 5


def _table(
    page: Page, title: str, columns: str, rows: list[tuple[object, ...]], limit: int, of: int = 0
) -> None:
    """`columns`: names joined by |; `<` marks text, `…` text that may be cut: long names stand last.

    `of`: how many rows there are, of which `rows` may be the first.
    """
    if not rows:
        return
    page.line()
    page.heading(title)
    page.table(
        [
            Column(n.lstrip("<…"), right=not n.startswith(("<", "…")), fold=n.startswith("…"))
            for n in columns.split("|")
        ],
        rows[:limit],
    )
    if of > min(limit, len(rows)):
        page.line(f"{of - min(limit, len(rows))} more rows (use --limit)")


def kernels(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "Kernels, copies and sets by device time",
        "total|share|calls|median|blocks/SM|occupancy|<class|<made by|…name",
        [
            (
                milliseconds(k["total_ms"]), percent(k["share"]), count(k["calls"]),
                milliseconds(k["median_us"] / 1e3),
                f"{k['blocks_per_sm']:.1f}" if k["blocks_per_sm"] else "–",
                f"{k['occupancy_percent']:.0f} %" if k["occupancy_percent"] else "–",
                k["kernel_class"], k["origin"] + (", tensor cores" if k["tensor_cores"] else ""), k["name"],
            )
            for k in rank["kernels"]
        ],
        options.rows(KERNELS),
        rank["rows_in_all"]["kernels"],
    )  # fmt: skip


def launches(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "From the host's call to the device's start",
        "…launched by|calls|events|call|event|latency|95 %|shorter than call",
        [
            (
                s["name"], count(s["calls"]), count(s["events"]),
                *(milliseconds(s[f"{k}_us"] / 1e3) for k in
                  ("call_median", "device_median", "latency_median", "latency_p95")),
                percent(s["short_kernels"] / s["events"]),
            )
            for s in rank["launches"]
        ],
        options.rows(SHORT),
        rank["rows_in_all"]["launches"],
    )  # fmt: skip
    graphs = rank["graphs"]
    if graphs["events"]:
        page.line(
            f"  {count(graphs['launches'])} graph launches replay {count(graphs['events'])} events, "
            f"{milliseconds(graphs['device_ms'])} or {percent(graphs['share'])} of the device's work"
        )


def calls(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "Runtime and driver calls by host time",
        "…call|<kind|<api|calls|total|median|longest",
        [
            (
                c["name"], c["kind"], c["api"], count(c["calls"]), milliseconds(c["total_ms"]),
                milliseconds(c["median_us"] / 1e3), milliseconds(c["max_us"] / 1e3),
            )
            for c in rank["calls"]
        ],
        options.rows(SHORT),
        rank["rows_in_all"]["calls"],
    )  # fmt: skip


def waits(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "Where the host waits for the device",
        "…call|<below|calls|host waits|device idles|longest",
        [
            (
                s["call"], s["op"] or "–", count(s["count"]), milliseconds(s["waited_ms"]),
                milliseconds(s["device_idle_ms"]), milliseconds(s["longest_ms"]),
            )
            for s in rank["syncs"]
        ],
        options.rows(SHORT),
        rank["rows_in_all"]["syncs"],
    )  # fmt: skip
    _table(
        page,
        "Longest stretches without device work",
        "length|at|<cause|…ended by",
        [
            (milliseconds(w["ms"]), milliseconds(w["start_ms"]), w["cause"], w["next"])
            for w in rank["dead_windows"]
        ],
        options.rows(STRETCHES),
        rank["rows_in_all"]["dead_windows"],
    )


def copies(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "Copies and sets",
        "<direction|<memory|calls|bytes|total|GB/s|largest GB/s|below 64 KiB",
        [
            (
                c["direction"], c["memory"], count(c["calls"]), size(c["bytes"]), milliseconds(c["total_ms"]),
                _rate(c["gbs"]), _rate(c["best_gbs"]), count(c["small_calls"]),
            )
            for c in rank["copies"]
        ],
        len(rank["copies"]),
    )  # fmt: skip


def memory(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    _table(
        page,
        "Memory of the framework's allocator",
        "<device|peak in use|peak reserved|fragmentation",
        [
            (
                m["device"],
                size(m["peak_bytes"]),
                "unknown" if m["peak_reserved_bytes"] is None else size(m["peak_reserved_bytes"]),
                "unknown" if m["fragmentation"] is None else percent(m["fragmentation"]),
            )
            for m in rank["memory"]
        ],
        len(rank["memory"]),
    )


def critical_path(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    whole = sum(rank["critical_path_ms"].values())
    if not whole:
        return
    page.line()
    page.heading("The critical path, by what bounds it")
    parts = sorted(rank["critical_path_ms"].items(), key=lambda item: -item[1])
    page.line("  " + ", ".join(f"{b} {milliseconds(ms)} ({percent(ms / whole)})" for b, ms in parts if ms))


def rates(rank: dict[str, Any], page: Page, options: ShowOptions) -> None:
    found = rank["achieved"]
    page.line()
    page.heading(f"Achieved rates of matrix operators on {found['device_name'] or 'a device without a name'}")
    if found["rows"]:
        _table_of_rates(found, page, options.rows(SHORT))
    if found["mfu"] is None:
        page.line(f"  MFU unknown: {found['why_unknown']}")
    else:
        _utilization(found, page)


def _utilization(found: dict[str, Any], page: Page) -> None:
    """A lower bound where the FLOPs of some matrix operators are not known."""
    peak = f"of {found['peak_tflops']:.0f} TFLOP/s (dense 16 bit)"
    if found["covered"] is None or found["covered"] > 0.995:
        page.line(f"  MFU {percent(found['mfu'])} {peak}")
        return
    page.line(
        f"  MFU at least {percent(found['mfu'])} {peak}: FLOPs are known for {percent(found['covered'])} of the "
        f"matrix operators' device time ({percent(found['mfu_of_covered'])} if the rest is as efficient)"
    )


def _table_of_rates(found: dict[str, Any], page: Page, limit: int) -> None:
    names = ("operator", "bytes/element", "calls", "device", "TFLOP/s", "GB/s at least", "of peak")
    page.table(
        [Column(n, right=i > 0, fold=i == 0) for i, n in enumerate(names)],
        [
            (
                r["name"], r["item_bytes"] or "unknown", count(r["calls"]), milliseconds(r["device_ms"]),
                _rate(r["tflops"]), _rate(r["gbs"]),
                "unknown" if r["peak_share"] is None else percent(r["peak_share"]),
            )
            for r in found["rows"][:limit]
        ],
    )  # fmt: skip


def _rate(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


Section = Callable[[dict[str, Any], Page, ShowOptions], None]
SECTIONS: tuple[Section, ...] = (kernels, critical_path, launches, calls, waits, copies, memory, rates)
