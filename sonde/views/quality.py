"""`quality`: how far the recording can be trusted, by its own figures."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.analyze.primitives.places import shares, with_places
from sonde.analyze.primitives.table import executed
from sonde.analyze.recording.account import Account
from sonde.analyze.recording.overhead import Overhead
from sonde.analyze.recording.quality import Attributed, PerSample, quality
from sonde.analyze.recording.taken_away import DisturbedWindows, disturbed_windows
from sonde.analyze.recording.undisturbed import Side, window_effect
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

TABLES = ("processes", "threads", "frames", "stacks", "samples", "counters", "marks", "losses")


@dataclass(frozen=True)
class CountedProcesses:
    """How many processes there were."""

    all: int
    unsampled: int  # that used CPU time and were not sampled
    unknown: int  # that did not report their CPU time: killed, crashed or still running


@dataclass(frozen=True)
class CpuSeconds:
    """CPU time of all processes, in seconds."""

    sampled: float  # that samples stand for
    rusage: float | None  # that the system counted
    share: float | None  # of it that samples stand for, 0 to 1
    spread: float  # after a thread's last sample, spread over the places of its last samples
    unplaced: float  # without a place
    unsampled: float  # of processes that were not sampled
    missing: float
    processes: CountedProcesses


@dataclass(frozen=True)
class Rate:
    """Many busy threads shared their ticks."""

    asked_hz: float
    lowest_hz: float


@dataclass(frozen=True)
class TorchClock:
    """How torch's own times were moved to Sonde's clock."""

    within_ns: int  # how far they may be off, in the worst window
    drift: float  # how much torch's clock ran fast, a share; below 0: slow


@dataclass(frozen=True)
class Undisturbed:
    """A step before the first profiling window and after the last."""

    before: Side
    after: Side
    differs: list[str]  # CPU time, page faults: what changed beyond chance
    sentence: str | None


@dataclass(frozen=True)
class QualityAnswer:
    """None: the recording does not tell."""

    samples: int
    engines: list[str]  # what took the samples
    waits: int
    duration_s: float
    cpu_s: CpuSeconds
    lost: dict[str, int]  # by cause
    overhead: Overhead
    per_sample: PerSample | None
    attributed: dict[str, Attributed]  # all, jit, workers: shares of CPU time
    heuristic: float | None  # share of samples with a frame that a heuristic found
    anchor_missed: float | None  # share of checked walks that missed the interpreter's frame
    rate: Rate | None
    clock: TorchClock | None
    windows: DisturbedWindows | None
    undisturbed: Undisturbed | None
    primitives: dict[str, float] | None  # shares of their time, by how their operator is known


def data(recording: Recording, options: ShowOptions) -> QualityAnswer:
    found = quality({name: recording.table(name) for name in TABLES})
    return QualityAnswer(
        samples=found.samples,
        engines=found.engines,
        waits=found.waits,
        duration_s=found.duration_s,
        cpu_s=_cpu(found.cpu),
        lost=found.lost,
        overhead=found.overhead,
        per_sample=found.per_sample,
        attributed=found.attributed,
        heuristic=found.heuristic,
        anchor_missed=found.anchor_missed,
        rate=_rate(recording),
        clock=_clock(recording),
        windows=disturbed_windows(recording.table("marks")),
        undisturbed=_undisturbed(recording),
        primitives=_primitives(recording),
    )


def _cpu(found: Account) -> CpuSeconds:
    return CpuSeconds(
        sampled=found.sampled_ns / 1e9,
        rusage=found.whole_ns / 1e9 if found.whole_ns else None,
        share=found.share,
        spread=found.spread_ns / 1e9,
        unplaced=found.unplaced_ns / 1e9,
        unsampled=found.unsampled_ns / 1e9,
        missing=found.missing_ns / 1e9 if found.is_missing else 0.0,
        processes=CountedProcesses(found.processes, found.unsampled, found.unknown),
    )


def _rate(recording: Recording) -> Rate | None:
    counters = recording.table("counters")
    lowest = counters.array("value")[counters.text("name").equals("agent_lowest_rate_hz")]
    asked = recording.meta.options.get("rate_hz")
    if asked and len(lowest) and lowest.min() < int(asked):  # the agent counts in whole Hz
        return Rate(float(asked), float(lowest.min()))
    return None


def _clock(recording: Recording) -> TorchClock | None:
    within = recording.meta.clock.sources.get("kineto", 0)
    if not within or not recording.meta.details.get("windows"):
        return None
    return TorchClock(within, recording.meta.details.get("torch_clock_drift", 0.0))


def _undisturbed(recording: Recording) -> Undisturbed | None:
    effect = window_effect(*(recording.table(name) for name in ("marks", "counters", "samples", "threads")))
    if effect is None:
        return None
    return Undisturbed(effect.before, effect.after, list(effect.differs), effect.sentence or None)


def _primitives(recording: Recording) -> dict[str, float] | None:
    if not len(recording.table("primitives")):
        return None
    tables = ("primitives", "ops", "samples", "stacks", "frames")
    placed = with_places(*(recording.table(name) for name in tables))
    return shares(placed.take(executed(placed)))
