"""`compile`: what torch.compile cost and did: regions, graph breaks, recompiles, kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sonde.analyze.recording.compile_summary import FusedKernel, GraphBreak, Region, compile_summary
from sonde.store.recording import Recording
from sonde.views.columns import Column
from sonde.views.options import ShowOptions

TABLES = ("marks", "processes", "samples", "stacks", "frames", "kernels")


@dataclass(frozen=True)
class RegionRow:
    """One compilation of one function."""

    compile_id: Annotated[str, Column("id", meaning="torch's id of the compilation, frame/attempt")]
    name: Annotated[str, Column("region", meaning="the function that was compiled")]
    file: Annotated[str | None, Column("file", meaning="where it is defined")]
    line: Annotated[int, Column("line", meaning="line in `file`; -1: not known")]
    start_ns: Annotated[int, Column("start", "ns", "when compiling began, by CLOCK_MONOTONIC")]
    compile_ms: Annotated[float, Column("compiling", "ms", "time to compile it")]
    ops: Annotated[int, Column("operators", "count", "operators in its graph; 0: not known")]
    cache_hits: Annotated[int, Column("cache hits", "count", "graphs found in Inductor's cache")]
    cache_misses: Annotated[int, Column("cache misses", "count", "graphs that had to be compiled")]
    recompile_reason: Annotated[
        str | None,
        Column("recompiled because", meaning="the guard that failed; null: compiled for the first time"),
    ]


@dataclass(frozen=True)
class BreakRow:
    """A place at which the graph was broken."""

    reason: Annotated[str, Column("reason", meaning="as torch gives it")]
    file: Annotated[str | None, Column("file", meaning="where the break is")]
    line: Annotated[int, Column("line", meaning="line in `file`; -1: not known")]
    count: Annotated[int, Column("count", "count", "how often")]


@dataclass(frozen=True)
class GeneratedKernel:
    """A kernel that the compiler generated."""

    name: Annotated[str, Column("kernel", meaning="its name")]
    direction: Annotated[str | None, Column("direction", meaning="forward or backward")]
    fused: list[str]  # operators
    lines: list[str]  # FILE:LINE of the program
    provenance: Annotated[str, Column("known by", meaning="compiler, or name: only the kernel's name tells")]
    versions: Annotated[int, Column("versions", "count", "kernels of this name")]
    time_ms: Annotated[float, Column("time", "ms", "sampled CPU time, or device time of a trace")]
    samples: Annotated[int, Column("seen", "count", "samples in the kernel, or its runs on a device")]


@dataclass(frozen=True)
class Compile:
    """`compile_ms`: nested compilations count once; `span_ms`: the whole run."""

    span_ms: float
    compile_ms: float
    cache_hits: int
    cache_misses: int
    recompiles: int
    regions: list[RegionRow]
    breaks: list[BreakRow]
    kernels: list[GeneratedKernel]


def data(recording: Recording, options: ShowOptions) -> Compile:
    """Regions in order of time, graph breaks by count, kernels by time."""
    found = compile_summary(*(recording.table(name) for name in TABLES))
    return Compile(
        span_ms=found.span_ns / 1e6,
        compile_ms=found.compile_ns / 1e6,
        cache_hits=sum(r.cache_hits for r in found.regions),
        cache_misses=sum(r.cache_misses for r in found.regions),
        recompiles=len(found.recompiles),
        regions=[_region(r) for r in found.regions],
        breaks=[_break(b) for b in found.breaks],
        kernels=[_kernel(k) for k in found.kernels],
    )


def _region(region: Region) -> RegionRow:
    return RegionRow(
        compile_id=region.compile_id,
        name=region.name,
        file=region.file,
        line=region.line,
        start_ns=region.start_ns,
        compile_ms=region.compile_ns / 1e6,
        ops=region.ops,
        cache_hits=region.cache_hits,
        cache_misses=region.cache_misses,
        recompile_reason=region.recompile_reason,
    )


def _break(found: GraphBreak) -> BreakRow:
    return BreakRow(found.reason, found.file, found.line, found.count)


def _kernel(kernel: FusedKernel) -> GeneratedKernel:
    return GeneratedKernel(
        name=kernel.name,
        direction=kernel.direction,
        fused=kernel.fused,
        lines=kernel.lines,
        provenance=kernel.provenance,
        versions=kernel.versions,
        time_ms=kernel.time_ns / 1e6,
        samples=kernel.samples,
    )
