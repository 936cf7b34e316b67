"""`sonde show REC quality`: how far the recording can be trusted, by its own figures."""

from __future__ import annotations

from typing import Any

from sonde.analyze.primitives.places import shares, with_places
from sonde.analyze.primitives.table import executed
from sonde.analyze.recording.quality import quality
from sonde.analyze.recording.taken_away import disturbed_windows
from sonde.analyze.recording.undisturbed import window_effect
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

TABLES = ("processes", "threads", "frames", "stacks", "samples", "counters", "marks", "losses")


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """The object of `Quality.as_json`, documented there; `primitives`: how their operators are known.

    `clock`: how far the times of torch's profiler may be off (`within_ns`, the worst window), and how much
    its clock ran fast (`drift`, a share; below 0: slow) where that had to be corrected.
    `windows`: how many there were, how many other programs disturbed, and the largest share that they took.
    `undisturbed`: a step before the first window and after the last: steps, ms, cpu_ms, faults; what differs.
    `rate`: what was asked for and how rarely a thread ticked at times, where many busy threads shared their ticks.
    """
    found: dict[str, Any] = quality({name: recording.table(name) for name in TABLES}).as_json()
    counters = recording.table("counters")
    lowest = counters.array("value")[counters.text("name").equals("agent_lowest_rate_hz")]
    asked = recording.meta.options.get("rate_hz")
    if asked and len(lowest) and lowest.min() < int(asked):  # the agent counts in whole Hz
        found["rate"] = {"asked_hz": asked, "lowest_hz": float(lowest.min())}
    within = recording.meta.clock.sources.get("kineto", 0)
    if within and recording.meta.details.get("windows"):
        found["clock"] = {"within_ns": within, "drift": recording.meta.details.get("torch_clock_drift", 0.0)}
    if windows := disturbed_windows(recording.table("marks")):
        found["windows"] = windows
    if effect := window_effect(recording.table("marks"), counters):
        found["undisturbed"] = effect.as_json()
    if len(recording.table("primitives")):
        tables = ("primitives", "ops", "samples", "stacks", "frames")
        placed = with_places(*(recording.table(name) for name in tables))
        found["primitives"] = shares(placed.take(executed(placed)))
    return found
