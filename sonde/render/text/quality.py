"""`sonde show REC quality`: prints the answer of `sonde.views.quality`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, percent
from sonde.views.options import ShowOptions

GROUPS = {"all": "all on-CPU time", "jit": "in generated code", "workers": "of pool workers in a region"}


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["samples"]:
        page.line("This recording has no samples, so its quality cannot be assessed.")
        return
    cpu = data["cpu_s"]
    engines = f" by engine {' and '.join(data['engines'])}" if data["engines"] else ""
    page.line(f"{count(data['samples'])} on-CPU samples in {data['duration_s']:.1f} s{engines}")
    if cpu["rusage"]:
        page.line(
            f"CPU time: {cpu['sampled']:.2f} s in samples, {cpu['rusage']:.2f} s by rusage ({percent(cpu['share'])})"
        )
        for line in _parts(cpu):
            page.line("  " + line)
    overhead = data["overhead"]
    if overhead["share"] is None:
        page.line("Overhead: not measured in this run (sonde run --blocks)")
    else:
        low, high = percent(overhead["low"]), percent(overhead["high"])
        how = {
            "blocks": f"by {overhead['pairs']} pairs of on/off blocks",
            "accounted": "by the agent's own clocks; sonde run --blocks measures it",
        }.get(overhead["method"], "")
        page.line(f"Overhead: {percent(overhead['share'])} of CPU time [{low}, {high}] {how}".rstrip())
        if overhead["windows"]:
            page.line(f"  {percent(overhead['windows'])} of it in the profiling windows")
    if spent := data["per_sample"]:
        walk, whole = (
            f"{spent[f'{part}_p50_ns'] / 1e3:.1f} µs (95 % within {spent[f'{part}_p95_ns'] / 1e3:.1f} µs)"
            for part in ("walk", "handler")
        )
        page.line(f"Per sample: walking the stacks {walk}, the whole handler {whole}")
    if rate := data["rate"]:
        page.line(
            f"Ticks: many threads were busy and shared them, each as rarely as {rate['lowest_hz']:g} a second "
            f"instead of {rate['asked_hz']:g}; a sample then stands for more time"
        )
    lost = {cause: n for cause, n in data["lost"].items() if n}
    page.line("Lost: " + (", ".join(f"{count(n)} {cause}" for cause, n in lost.items()) or "nothing"))
    if clock := data["clock"]:
        page.line(
            f"Clock: operators lie within {clock['within_ns'] / 1e3:.1f} µs of the samples{_drift(clock['drift'])}"
        )
    if (windows := data["windows"]) and windows["disturbed"]:
        page.line(
            f"Profiling windows: {windows['disturbed']} of {windows['count']} were disturbed; their thread was ready "
            f"but off the CPU for up to {percent(windows['most_taken'])} of the time"
        )
    if sides := data["undisturbed"]:
        b, a = sides["before"], sides["after"]
        page.line(
            f"Steps before and after profiling windows: {b['ms']:.3g} and {a['ms']:.3g} ms, {b['cpu_ms']:.3g} and "
            f"{a['cpu_ms']:.3g} ms of CPU time, {b['faults']:,.0f} and {a['faults']:,.0f} page faults"
            + (f"; {' and '.join(sides['differs'])} differ" if sides["differs"] else "")
        )
    if data["primitives"]:
        known = 1 - data["primitives"]["unknown"]
        page.line(f"Primitives: {percent(known)} of their time has its operator")
    page.line()
    columns = ("Python line", "operator", "module", "named leaf", "to the root")
    rows = []
    for key, title in GROUPS.items():
        group = data["attributed"].get(key)
        if group and group["samples"]:
            shares = (group[k] for k in ("python", "op", "module", "leaf", "root"))
            rows.append((title, count(group["samples"]), *("–" if s is None else percent(s) for s in shares)))
    page.table(
        [
            Column("share of CPU time"),
            Column("samples", right=True),
            *(Column(c, right=True) for c in columns),
        ],
        rows,
    )


def _parts(cpu: dict[str, Any]) -> Iterator[str]:
    """What of the CPU time is not simply in samples."""
    processes = cpu["processes"]
    if cpu["spread"]:
        yield f"{cpu['spread']:.2f} s after a thread's last sample, spread over the places of its last samples"
    if cpu["unplaced"]:
        yield f"{cpu['unplaced']:.2f} s without a place: Sonde's own threads, and threads without a sample"
    if processes["unsampled"]:
        yield (
            f"{cpu['unsampled']:.2f} s in {count(processes['unsampled'])} of {count(processes['all'])} processes that "
            "were not sampled: helper programs, or too short"
        )
    if processes["unknown"]:
        yield f"{count(processes['unknown'])} processes did not report their CPU time: killed, crashed or still running"
    if cpu["missing"]:
        yield f"{cpu['missing']:.2f} s missing"


def _drift(share: float) -> str:
    if not share:
        return ""
    return f"; torch's own clock ran {abs(share):.2%} {'fast' if share > 0 else 'slow'}, which is corrected"
