"""`sonde show REC steps`: how long steps took, with warm-up set apart and phases split."""

from __future__ import annotations

from typing import Any

from sonde.analyze.steps.program import StepReport, step_reports
from sonde.render.text.page import Column, Page, bar, sparkline
from sonde.render.text.taken import say_taken, taken_json
from sonde.render.text.units import milliseconds, percent
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """The process with most steps: `count`, `warmup`, `median_ms`, `phase_ms`, `steps`; `processes`: all.

    Times are without `taken_away`, where that matters; of a step, `taken_ms` is what was left out of `ms`.
    """
    reports = step_reports(recording.table("marks"), recording.table("samples"), recording.table("threads"))
    processes = [_one(report) for report in reports]
    main = max(processes, key=lambda p: p["count"], default=None)
    empty: dict[str, Any] = {"count": 0, "warmup": 0, "left_out": 0, "median_ms": None, "steps": []}
    main = {**(main or empty), "taken_away": taken_json(recording)}
    return {**main, "processes": [{k: p[k] for k in p if k != "steps"} for p in processes]}


def _one(report: StepReport) -> dict[str, Any]:
    return {
        "process": report.process,
        "kind": report.kind,
        "count": len(report.steps),
        "warmup": report.warmup,
        "left_out": report.left_out,
        "median_ms": report.median_ns / 1e6,
        "p10_ms": report.p10_ns / 1e6,
        "p90_ms": report.p90_ns / 1e6,
        "phase_ms": {name: ns / 1e6 for name, ns in report.phase_ns.items()},
        "steps": [
            {
                "index": s.index,
                "start_ns": s.start_ns,
                "ms": s.own_ns / 1e6,
                "taken_ms": s.taken_ns / 1e6,
                "phase_ms": {name: ns / 1e6 for name, ns in s.phase_ns.items()},
                "in_window": s.in_window,
            }
            for s in report.steps
        ],
    }


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if not data["count"]:
        page.line("No steps were seen. Mark them in the program with: sonde.step()")
        return
    say_taken(data["taken_away"], page)
    times = [s["ms"] for s in data["steps"]]
    warm = data["warmup"]
    kind = data["kind"] + " " if data["kind"] in ("train", "inference") else ""
    spread = f"10–90 %: {milliseconds(data['p10_ms'])} – {milliseconds(data['p90_ms'])}"
    page.line(
        f"{data['count']} {kind}steps; {warm} of them warm-up; "
        f"then median {milliseconds(data['median_ms'])} ({spread})"
    )
    if warm:
        excess = sum(times[:warm]) - warm * data["median_ms"]
        steady = "a steady step" if warm == 1 else f"{warm} steady steps"
        page.line(f"warm-up  {sparkline(times[:warm])}  {milliseconds(excess)} above {steady}")
    page.line(f"steady   {sparkline(times[warm:])}  0 to {milliseconds(max(times[warm:], default=0))}")
    if data["left_out"]:
        page.line(
            f"{data['left_out']} steady steps ran inside deep windows: slower by that, so in no figure here"
        )
    if data["phase_ms"]:
        page.line()
        rows = sorted(data["phase_ms"].items(), key=lambda item: -item[1])
        page.table(
            [Column("phase"), Column("median", right=True), Column("of step", right=True), Column("")],
            [
                (n, milliseconds(ms), percent(ms / data["median_ms"]), bar(ms / data["median_ms"]))
                for n, ms in rows
            ],
        )
