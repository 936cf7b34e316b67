"""Measure what this machine can do, and keep it: `sonde check --roof`.

Peaks come from large matrix products of the user's own torch where there is
one (what programs can really get), else from fused multiply-adds in registers;
bandwidths from a triad over working sets that fit L2, the last level, or
neither. Samples are short and many, and all probes take turns, so that a busy
neighbour disturbs each of them alike. Kept are the 10th percentile of time (the
roof) and the median (what a user gets); their ratio tells how noisy it was.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sonde.analyze.roofline.bounds import Level, Roof
from sonde.errors import EnvironmentLacks, InputError
from sonde.machine.facts import Facts
from sonde.machine.roof_torch import TorchPeaks

FORMAT = 1
NATIVE_BUDGET_S = 5.0
_SAMPLE_S = 0.0004  # short against a scheduler's slice, long against a timer
_MEMORY_SET_BYTES = 64 << 20  # at least, per machine; more when the last level is larger
_LARGEST_SET_BYTES = 1 << 30


@dataclass(frozen=True)
class Rate:
    """One probe: work per second, at best (p10 of time) and usually (median)."""

    name: str  # f32, bf16, … or L2, last level, memory
    threads: int
    best: float
    median: float
    samples: int
    size_bytes: int | None = None  # working set of a bandwidth


@dataclass(frozen=True)
class MeasuredRoofs:
    """All that was measured on one machine."""

    machine: str
    when: str
    source: str  # "torch 2.13.0", or "native" when there was no torch
    seconds: float
    peaks: list[Rate] = field(default_factory=list)
    bandwidths: list[Rate] = field(default_factory=list)

    @property
    def noise(self) -> float:
        """1 on a quiet machine; 3 means that the usual rate is a third of the best."""
        ratios = sorted(r.best / r.median for r in (*self.peaks, *self.bandwidths) if r.median > 0)
        return ratios[len(ratios) // 2] if ratios else float("nan")

    def roof(self, threads: int) -> Roof:
        """The limits for a number of threads: of the nearest number that was measured."""
        counts = {r.threads for r in self.bandwidths} | {r.threads for r in self.peaks}
        near = min(counts, key=lambda n: (abs(n - threads), -n)) if counts else threads
        peaks = {r.name: r.best for r in self.peaks if r.threads == near}
        levels = [Level(r.name, r.size_bytes, r.best) for r in self.bandwidths if r.threads == near]
        levels.sort(key=lambda level: (level.size_bytes is None, level.size_bytes or 0))
        return Roof(near, peaks, tuple(levels))


def machine_id(facts: Facts) -> str:
    """Short name of this machine as this process sees it: processor, CPUs, caches."""
    parts = [
        facts.processor.model,
        facts.effective_cpus,
        facts.cgroup.cpu_quota,
        facts.topology.last_level_bytes,
    ]
    host = _read("/etc/machine-id") or os.uname().nodename
    return hashlib.sha256(json.dumps([host, *parts]).encode()).hexdigest()[:16]


def folder() -> Path:
    """Where measured roofs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sonde" / "roofs"


def save(roofs: MeasuredRoofs, into: Path | None = None) -> Path:
    """Write them in one step; returns the file."""
    target = (into or folder()) / f"{roofs.machine}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps({"format": FORMAT, **asdict(roofs)}, indent=1) + "\n", encoding="utf-8")
    partial.replace(target)
    return target


def load(machine: str, source: Path | None = None) -> MeasuredRoofs | None:
    """What was measured for a machine, None when nothing was."""
    path = (source or folder()) / f"{machine}.json"
    return read(path) if path.exists() else None


def read(path: Path) -> MeasuredRoofs:
    """A file that `save` wrote, here or on another machine."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", "measure again: sonde check --roof") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} holds no roofs", "measure: sonde check --roof")
    return from_json(data, path)


def known_roofs(facts: Facts) -> dict[str, Any] | None:
    """What was measured on this machine, as JSON for a recording; None when nothing usable was."""
    try:
        found = load(machine_id(facts))
    except (InputError, OSError):
        return None
    return {"format": FORMAT, **asdict(found)} if found else None


def from_json(data: dict[str, Any], path: Path) -> MeasuredRoofs:
    if data.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {data.get('format')!r}, not {FORMAT}", "measure: sonde check --roof"
        )
    try:
        rates = {k: [Rate(**r) for r in data[k]] for k in ("peaks", "bandwidths")}
        return MeasuredRoofs(data["machine"], data["when"], data["source"], data["seconds"], **rates)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: {error}", "measure again: sonde check --roof") from None


def measure(
    facts: Facts, peaks: TorchPeaks | None = None, budget_s: float = NATIVE_BUDGET_S
) -> MeasuredRoofs:
    """Measure now. `peaks` are torch's, measured before in a child process."""
    started = time.monotonic()
    all_threads = max(1, facts.effective_cpus or 1)
    counts = sorted({1, all_threads})
    probes = [probe for threads in counts for probe in _bandwidth_probes(facts, threads)]
    if peaks is None:
        probes += [_Probe("f32", threads, None, _fma(threads)) for threads in counts]
    _take_turns(probes, budget_s)
    found = [_rate(p) for p in probes]
    compute = [r for r in found if r.name == "f32"]
    if peaks is not None:
        compute = [Rate(p.name, p.threads, p.best, p.median, p.samples) for p in peaks.peaks]
    return MeasuredRoofs(
        machine=machine_id(facts),
        when=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        source=f"torch {peaks.version}" if peaks else "native",
        seconds=round(time.monotonic() - started + (peaks.seconds if peaks else 0.0), 2),
        peaks=compute,
        bandwidths=[r for r in found if r.name != "f32"],
    )


@dataclass
class _Probe:
    """Something to time again and again. `run(samples)` gives work per sample and the times."""

    name: str
    threads: int
    size_bytes: int | None
    run: Callable[[int], tuple[float, list[float]]]
    work: float = 0.0
    seconds: list[float] = field(default_factory=list)


def _take_turns(probes: list[_Probe], budget_s: float) -> None:
    """A batch of samples of each probe in turn, until the time is used up; at least two turns."""
    deadline = time.monotonic() + budget_s
    turn = 0
    while turn < 2 or (time.monotonic() < deadline and turn < 50):
        for probe in probes:
            if turn >= 2 and time.monotonic() > deadline:
                return
            probe.work, seconds = probe.run(20)
            probe.seconds += seconds
        turn += 1


def _rate(probe: _Probe) -> Rate:
    times = sorted(t for t in probe.seconds if t > 0)
    best, median = times[len(times) // 10], times[len(times) // 2]
    return Rate(
        probe.name, probe.threads, probe.work / best, probe.work / median, len(times), probe.size_bytes
    )


def _bandwidth_probes(facts: Facts, threads: int) -> list[_Probe]:
    """Half of L2 per thread, a share of half of the last level, and four times the last level."""
    data = [c for c in facts.topology.caches if c.kind != "Instruction"]
    second = next((c for c in data if c.level == 2), None)
    last = max(data, key=lambda c: c.level, default=None)
    found = []
    if second is not None:
        found.append(_triad("L2", threads, second.size_bytes // 2, second.size_bytes))
    if last is not None and last.level > 2:
        each = last.size_bytes // 2 // threads
        found.append(_triad("last level", threads, each, last.size_bytes))
    large = max(_MEMORY_SET_BYTES, 4 * (last.size_bytes if last else 0))
    large = min(large, _LARGEST_SET_BYTES, (facts.memory_limit_bytes or _LARGEST_SET_BYTES) // 4)
    found.append(_triad("memory", threads, large // threads, None))
    return found


def _triad(name: str, threads: int, bytes_each: int, size: int | None) -> _Probe:
    library = _library()
    slice_bytes = min(bytes_each, 4 << 20)

    def sample(samples: int, repeats: int) -> tuple[float, list[float]]:
        out = (ctypes.c_double * samples)()
        moved = library.sonde_roof_triad(threads, bytes_each, slice_bytes, repeats, samples, out)
        if not moved:
            need = bytes_each * threads >> 20
            raise EnvironmentLacks(f"no {need} MiB for the bandwidth probe", "free some memory")
        return moved, list(out)

    # A small set is passed too quickly to be timed: find how often to repeat it in a sample.
    repeats = 1
    while size is not None and repeats < 1 << 20 and min(sample(5, repeats)[1]) < _SAMPLE_S / 2:
        repeats *= 2
    return _Probe(name, threads, size, lambda samples: sample(samples, repeats))


def _fma(threads: int) -> Callable[[int], tuple[float, list[float]]]:
    library = _library()

    def run(samples: int) -> tuple[float, list[float]]:
        out = (ctypes.c_double * samples)()
        return library.sonde_roof_fma(threads, 10_000, samples, out), list(out)

    return run


def _library() -> ctypes.CDLL:
    from sonde.native import tools

    library = tools()
    seconds = ctypes.POINTER(ctypes.c_double)
    library.sonde_roof_triad.restype = library.sonde_roof_fma.restype = ctypes.c_double
    library.sonde_roof_triad.argtypes = [
        *(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, seconds)
    ]
    library.sonde_roof_fma.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_int, seconds]
    return library


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
