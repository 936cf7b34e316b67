"""What `sonde run` says at the end: where, why, what next, in at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.recording.notes import notes
from sonde.analyze.recording.quality import quality
from sonde.analyze.samples.own_lines import own_lines
from sonde.analyze.samples.stacks import hot_frames
from sonde.analyze.steps.program import StepReport
from sonde.columns import Table
from sonde.insights.engine import judge
from sonde.insights.subject import Subject
from sonde.render.text.insights import summary_lines
from sonde.render.text.notes import show_notes
from sonde.render.text.page import Page, bar
from sonde.render.text.ranks import headline
from sonde.render.text.taken import say_taken
from sonde.render.text.units import count, milliseconds, nanoseconds, percent
from sonde.store.ranks import ranks_of
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from sonde.views.quality import TABLES
from sonde.views.taken import taken_json

HOT_ROWS = 4
LOSS_CAUSES = 3
FEWEST_STEADY_STEPS = 5
FEWEST_SAMPLES = 50
STATES = {
    "running": "running",
    "spinning": "busy-waiting (idle pool threads)",
    "imbalance": "waiting for slower threads",
}


def show_summary(recording: Recording, page: Page, name: str) -> None:
    """Print it. `name` is how to call the recording in the next commands."""
    meta = recording.meta
    ended = "" if meta.exit_code in (0, None) else f", exit code {meta.exit_code}"
    page.line()
    whole_s = meta.details.get("kept_of_s")
    kept = f" (of {whole_s:.1f} s; the rest was not kept)" if isinstance(whole_s, float) else ""
    page.heading(f"sonde: {meta.program} ran {meta.duration_s:.1f} s{kept}{ended} → {name}")
    show_notes(notes(meta.details, meta.options, recording.table), page)
    samples = recording.table("samples")
    on_cpu = samples.take(~samples.text("state").equals("waiting"))
    whole = int(on_cpu.array("weight_ns").sum())
    if whole == 0:
        page.line("No CPU time was sampled: the program was too short, or Sonde could not be loaded into it.")
        page.line(f"  sonde show {name} losses")
        return
    for line in _ranks(recording):
        page.line(line)
    subject = Subject(recording)
    say_taken(taken_json(recording, subject), page)
    reports = subject.reports
    steady = _steady(reports, on_cpu)
    part, where = (on_cpu, "of all CPU time") if steady is None else (steady, "of CPU time in steady steps")
    share_of = int(part.array("weight_ns").sum())
    for line in (*_steps(recording, reports), *_states(on_cpu, whole)):
        page.line(line)
    for line in (*_lines(recording, part, share_of, where), *_functions(recording, part, share_of, where)):
        page.line(line)
    for line in summary_lines(judge(recording, subject=subject)):
        page.line(line)
    for line in _trust(recording):
        page.line(line)
    page.line(f"Next:  sonde insights {name}     sonde report {name} --open     sonde show {name} ops")


def _ranks(recording: Recording) -> Iterator[str]:
    """How many ranks, how far apart, and who is late; nothing for a program of one rank."""
    if len(ranks_of(recording)) < 2:
        return
    found = VIEWS["ranks"].data(recording, ShowOptions())
    steps = [r["step_ms"] for r in found["rows"] if r["step_ms"] is not None]
    apart = (
        f"; their median steps take {milliseconds(min(steps))} to {milliseconds(max(steps))}" if steps else ""
    )
    waits = ""
    for what, whom in (("waiting_ms", "each other"), ("message_ms", "messages")):
        times = [r[what] for r in found["rows"] if r[what]]
        if times:
            waits += " and" if waits else ", of which they wait"
            waits += f" {milliseconds(min(times))} to {milliseconds(max(times))} for {whom}"
    yield f"{len(found['rows'])} ranks{apart}{waits}"
    yield from headline(found)


def _steady(reports: list[StepReport], on_cpu: Table) -> Table | None:
    """Samples of steady steps: start-up and warm-up are paid once and hide what is paid every step."""
    inside = np.zeros(len(on_cpu), np.bool_)
    time_ns = on_cpu.array("time_ns")
    for report in reports:
        start_ns, end_ns = report.steady_spans()
        if len(start_ns) >= FEWEST_STEADY_STEPS:
            step = np.searchsorted(start_ns, time_ns, "right") - 1
            inside |= (step >= 0) & (time_ns < end_ns[np.maximum(step, 0)])
    return on_cpu.take(inside) if int(inside.sum()) >= FEWEST_SAMPLES else None


def _steps(recording: Recording, reports: list[StepReport]) -> Iterator[str]:
    if not reports:
        return
    main = max(reports, key=lambda r: len(r.steps))
    phases = sorted(main.phase_ns.items(), key=lambda item: -item[1])
    split = ", ".join(f"{n} {percent(ns / main.median_ns)}" for n, ns in phases[:4] if main.median_ns)
    warm = f", {main.warmup} of them warm-up" if main.warmup else ""
    yield f"{len(main.steps)} steps{warm}; a steady one takes {nanoseconds(main.median_ns)}: {split}"


def _states(on_cpu: Table, whole: int) -> Iterator[str]:
    states, weight = on_cpu.text("state"), on_cpu.array("weight_ns")
    parts = []
    for state, title in STATES.items():
        share = int(weight[states.equals(state)].sum()) / whole
        if share >= 0.005:
            parts.append(f"{percent(share)} {title}")
    yield f"CPU time {nanoseconds(whole)}: " + ", ".join(parts)


def _lines(recording: Recording, on_cpu: Table, whole: int, where: str) -> Iterator[str]:
    """The user's own lines that cause most time, callees included."""
    carried = {file for file in recording.table("sources").text("file").tolist() if file}
    found = own_lines(recording.table("frames"), recording.table("stacks"), on_cpu, carried)
    if found.rows:
        yield f"Your {'functions' if found.functions else 'lines'}, with everything they call ({where}):"
    yield from _rows(found.rows, whole)
    if found.below:
        yield "Lines of libraries below it, with everything they call:"
        yield from _rows(found.below, whole)


def _rows(rows: list[tuple[str, int]], whole: int) -> Iterator[str]:
    for label, ns in rows[:HOT_ROWS]:
        yield f"  {percent(ns / whole):>7} {bar(ns / whole, 10)} {label}"


def _functions(recording: Recording, on_cpu: Table, whole: int, where: str) -> Iterator[str]:
    yield f"Where the CPU was ({where}):"
    hot = hot_frames(recording.table("frames"), recording.table("stacks"), on_cpu, runtime=False)
    for frame in sorted(hot, key=lambda h: -h.self_ns)[:HOT_ROWS]:
        yield f"  {percent(frame.self_ns / whole):>7} {bar(frame.self_ns / whole, 10)} {frame.label}"


def _trust(recording: Recording) -> Iterator[str]:
    found = quality({name: recording.table(name) for name in TABLES})
    everything = found.attributed["all"]
    parts = [f"{count(found.samples)} samples"]
    if found.cpu.share is not None:
        parts.append(f"{percent(found.cpu.share)} of CPU time accounted for")
    if everything.root is not None:
        parts.append(f"{percent(everything.root)} of stacks complete")
    parts.append(_lost(found.lost, recording.table("losses")))
    yield "Quality: " + ", ".join(parts)


def _lost(counts: dict[str, int], losses: Table) -> str:
    """What is missing and why: the causes with most first; a cause that stands alone with its reason."""
    causes = sorted((cause for cause, number in counts.items() if number), key=lambda cause: -counts[cause])
    if not causes:
        return "nothing lost"
    shown = [f"{count(counts[cause])} {cause}" for cause in causes[:LOSS_CAUSES]]
    if len(causes) == 1:
        details = losses.take(losses.text("cause").equals(causes[0])).text("detail")
        reasons = {text for text in details.tolist() if text}
        shown[0] += f": {reasons.pop()}" if len(reasons) == 1 else ""
    return "lost: " + ", ".join(shown) + (", …" if len(causes) > LOSS_CAUSES else "")
