"""How close work comes to what the machine can do: roofs in, bounds and efficiencies out.

A `Roof` holds what was measured: peak FLOP rate by data type and bandwidth by
level of memory. For work with F FLOPs and B bytes
    time at the roof = max(F / peak, B / bandwidth)
and efficiency = time at the roof / time taken. Data that fits half of the last
level cache is held against the cache's bandwidth and marked, since the tensor
may have been left there by the operator before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.columns import Array

# Above which efficiency nothing is gained by looking closer.
TARGET_COMPUTE, TARGET_MEMORY = 0.7, 0.6


@dataclass(frozen=True)
class Level:
    """One level of memory: working sets up to `size_bytes` (None: any) move at this rate."""

    name: str
    size_bytes: int | None
    bytes_per_s: float


@dataclass(frozen=True)
class Roof:
    """Limits of one machine with one number of threads. `levels` from the smallest to memory."""

    threads: int
    peak_flops: dict[str, float]  # by data type: f32, bf16, …
    levels: tuple[Level, ...] = field(default_factory=tuple)

    def peak(self, data_type: str) -> float:
        """Peak of a type; of f32 when that type was not measured; NaN when nothing was."""
        return self.peak_flops.get(data_type, self.peak_flops.get("f32", float("nan")))

    def ridge(self, data_type: str = "f32") -> float:
        """FLOPs per byte above which work is bound by compute, from main memory."""
        return self.peak(data_type) / self.levels[-1].bytes_per_s if self.levels else float("nan")


@dataclass(frozen=True)
class Placement:
    """Arrays, one entry per piece of work; NaN where FLOPs, bytes or the roof are unknown."""

    intensity: Array  # FLOPs per byte
    bound: Array  # text: compute, memory, cache or unknown
    roof_ms: Array
    efficiency: Array


def place(flops: Array, size_bytes: Array, time_ms: Array, data_types: list[str], roof: Roof) -> Placement:
    """Hold each piece of work against the roof."""
    flops, size_bytes = np.asarray(flops, float), np.asarray(size_bytes, float)
    time_ms = np.asarray(time_ms, float)
    peak = np.array([roof.peak(t) for t in data_types], float)
    rate, cached = _bandwidth(size_bytes, roof)
    with np.errstate(divide="ignore", invalid="ignore"):
        compute_ms = flops / peak * 1e3
        memory_ms = size_bytes / rate * 1e3
        roof_ms = np.fmax(compute_ms, memory_ms)  # one of them is enough for a lower bound
        intensity = flops / size_bytes
        efficiency = roof_ms / time_ms
    known = ~np.isnan(compute_ms) & ~np.isnan(memory_ms)
    bound = np.where(compute_ms >= memory_ms, "compute", np.where(cached, "cache", "memory")).astype(object)
    bound[~known] = "unknown"
    efficiency[~(time_ms > 0)] = np.nan
    return Placement(intensity, bound, roof_ms, efficiency)


def saving_ms(time_ms: Array, placement: Placement) -> Array:
    """What reaching the usual target would save; 0 for work that is there already or unknown."""
    target = np.where(placement.bound == "compute", TARGET_COMPUTE, TARGET_MEMORY)
    share = 1 - placement.efficiency / target
    return np.where(np.isnan(share), 0.0, np.maximum(share, 0.0) * time_ms)


def _bandwidth(size_bytes: Array, roof: Roof) -> tuple[Array, Array]:
    """Rate of the smallest level that holds twice the data, and whether that is a cache."""
    rate = np.full(len(size_bytes), roof.levels[-1].bytes_per_s if roof.levels else np.nan)
    cached = np.zeros(len(size_bytes), bool)
    for level in reversed(roof.levels[:-1]):
        if level.size_bytes is None:
            continue
        fits = size_bytes <= level.size_bytes / 2
        rate[fits] = level.bytes_per_s
        cached |= fits
    return rate, cached
