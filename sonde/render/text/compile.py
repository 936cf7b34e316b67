"""`sonde show REC compile`: prints the answer of `sonde.views.compile`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, percent, place
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["regions"] and not data["kernels"]:
        page.line("Nothing was compiled: no torch.compile in this run, or no generated kernel in this trace.")
        return
    if data["regions"]:
        _show_regions(data, page, options)
    if data["breaks"]:
        page.line()
        page.heading("Graph breaks")
        for found in data["breaks"][: options.rows()]:
            where = f"{place(found['file'])}:{found['line']}" if found["file"] else "line not known"
            page.line(f"  {count(found['count'])} × {where}  {_first_line(found['reason'])}")
    failed = [r for r in data["regions"] if r["recompile_reason"]]
    if failed:
        page.line()
        page.heading("Recompiled, because a guard failed")
        for region in failed[: options.rows()]:
            page.line(
                f"  {region['compile_id']:5} {region['name']}  {_first_line(region['recompile_reason'])}"
            )
    if data["kernels"]:
        _show_kernels(data, page, options)
    page.next(
        f"sonde show {options.name} chain --against {options.name}", f"sonde show {options.name} ops --native"
    )


def _show_regions(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    share = data["compile_ms"] / data["span_ms"] if data["span_ms"] else 0.0
    rest = data["span_ms"] - data["compile_ms"]
    page.heading(
        f"Compiling took {milliseconds(data['compile_ms'])} ({percent(share)} of the run), "
        f"everything else {milliseconds(rest)}"
    )
    page.line(
        f"  {count(len(data['regions']))} compilations, {count(data['recompiles'])} of them recompilations; "
        f"Inductor's cache: {count(data['cache_hits'])} hits, {count(data['cache_misses'])} misses"
    )
    page.line()
    most = max((r["compile_ms"] for r in data["regions"]), default=0.0) or 1.0
    rows = [
        (
            r["compile_id"],
            r["name"],
            f"{place(r['file'])}:{r['line']}" if r["file"] else "–",
            milliseconds(r["compile_ms"]),
            bar(r["compile_ms"] / most, 10),
            count(r["ops"]) if r["ops"] else "–",
            f"{r['cache_hits']}/{r['cache_hits'] + r['cache_misses']}",
        )
        for r in data["regions"][: options.rows()]
    ]
    columns = [Column("id"), Column("region", fold=True), Column("line", fold=True)]
    columns += [
        Column("compiling", right=True),
        Column("", spare=2),
        Column("operators", right=True, spare=1),
    ]
    page.table([*columns, Column("cache hits", right=True)], rows)


def _show_kernels(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    page.line()
    page.heading("Generated kernels and what was fused into them")
    rows = [
        (
            k["name"],
            milliseconds(k["time_ms"]) if k["samples"] else "–",
            count(k["samples"]),
            ", ".join(op.removeprefix("aten::") for op in k["fused"]),
            ", ".join(place(line) for line in k["lines"][:2]) + (" …" if len(k["lines"]) > 2 else ""),
        )
        for k in data["kernels"][: options.rows()]
    ]
    columns = [Column("kernel", fold=True), Column("time", right=True), Column("seen", right=True, spare=1)]
    page.table([*columns, Column("fused operators", fold=True), Column("lines", fold=True)], rows)
    page.line("“seen”: samples that ended in the kernel, or its runs on a device.")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0].strip() if text.strip() else "no reason given"
