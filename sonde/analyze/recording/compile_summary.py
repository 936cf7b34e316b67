"""What torch.compile did: compile time, regions, graph breaks, recompiles, cache hits, kernels.

In: `marks` (kind "compile"), `samples` with their stacks, `kernels`. Out: one `CompileSummary`. Compile time is
the union of the compilations' stretches, so that nested ones count once; run time is the rest.
A kernel of a trace that carries Inductor's naming scheme tells its fused operators by its name alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.base.grouping import rows_of
from sonde.columns import Array, Table

_NAME = re.compile(r"^(?:triton|cpp)_(?:(?:poi|red|per|tem|for)_)?fused_(\w+?)_(\d+)(?:[a-z\d]*)$")
# Operators whose names have underscores; longest first, so that a name is cut where an operator ends.
_LONG = (
    "native_layer_norm_backward", "native_layer_norm", "native_batch_norm", "threshold_backward", "log_softmax",
    "gelu_backward", "index_select", "masked_fill", "native_dropout", "convert_element_type", "avg_pool2d",
    "max_pool2d_with_indices", "to_copy", "nll_loss_forward", "nll_loss_backward", "embedding_dense_backward",
)  # fmt: skip


@dataclass(frozen=True)
class Region:
    """One compilation of one function."""

    name: str
    compile_id: str
    file: str | None
    line: int
    start_ns: int
    compile_ns: int
    ops: int
    cache_hits: int
    cache_misses: int
    recompile_reason: str | None


@dataclass(frozen=True)
class GraphBreak:
    reason: str
    file: str | None
    line: int
    count: int


@dataclass(frozen=True)
class FusedKernel:
    """A generated kernel: what was fused into it, where it came from, and the time it took."""

    name: str
    direction: str | None
    fused: list[str]
    lines: list[str]
    provenance: str  # compiler, or name when only the kernel's name tells
    versions: int
    time_ns: int
    samples: int  # on-CPU samples, or device kernels for a trace


@dataclass(frozen=True)
class CompileSummary:
    span_ns: int
    compile_ns: int
    regions: list[Region]
    breaks: list[GraphBreak]
    kernels: list[FusedKernel] = field(default_factory=list)

    @property
    def recompiles(self) -> list[Region]:
        return [region for region in self.regions if region.recompile_reason]


def compile_summary(
    marks: Table, processes: Table, samples: Table, stacks: Table, frames: Table, kernels: Table
) -> CompileSummary:
    """Everything known about the compiler in this recording."""
    rows = marks.take(marks.text("kind").equals("compile"))
    regions: list[Region] = []
    places: dict[tuple[str, str | None, int], int] = {}
    listed: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for i, name in enumerate(rows.text("name").tolist()):
        extra = json_text.object_of(rows.text("extra")[i])
        if name == "graph_break":
            key = (str(extra.get("reason", "")), *_place(extra))
            places[key] = places.get(key, 0) + 1
        elif name == "kernel":
            direction = json_text.text(extra.get("direction"))
            listed.setdefault((str(extra.get("kernel")), direction), []).append(extra)
        else:
            regions.append(_region(name or "?", rows, i, extra))
    breaks = [GraphBreak(*key, count) for key, count in sorted(places.items(), key=lambda p: -p[1])]
    sampled = _sampled_kernels(samples, stacks, frames)
    return CompileSummary(
        span_ns=_span(processes, kernels),
        compile_ns=_union([(r.start_ns, r.start_ns + r.compile_ns) for r in regions]),
        regions=sorted(regions, key=lambda r: r.start_ns),
        breaks=breaks,
        kernels=_kernels(listed, sampled, kernels),
    )


def fused_operators(kernel: str) -> list[str]:
    """The operators in the name of a generated kernel; empty for other kernels."""
    found = _NAME.match(kernel)
    if not found:
        return []
    rest, result = found[1].lstrip("_"), []
    while rest:
        operator = next((n for n in _LONG if rest == n or rest.startswith(n + "_")), rest.split("_")[0])
        result.append(operator)
        rest = rest[len(operator) :].lstrip("_")
    return result


def _region(name: str, rows: Table, i: int, extra: dict[str, Any]) -> Region:
    start, end = int(rows.array("start_ns")[i]), int(rows.array("end_ns")[i])
    ops, hits, misses = (json_text.whole(extra.get(key), 0) for key in ("ops", "cache_hits", "cache_misses"))
    reason = json_text.text(extra.get("recompile_reason"))
    file, line = _place(extra)
    return Region(
        name, str(extra.get("compile_id", "")), file, line, start, end - start, ops, hits, misses, reason
    )


def _place(extra: dict[str, Any]) -> tuple[str | None, int]:
    return json_text.text(extra.get("file")), json_text.whole(extra.get("line"))


def _kernels(
    listed: dict[tuple[str, Any], list[dict[str, Any]]], sampled: dict[str, tuple[int, int]], device: Table
) -> list[FusedKernel]:
    found = []
    directions: dict[str, int] = {}
    for name, _ in listed:
        directions[name] = directions.get(name, 0) + 1
    for (name, direction), marks in listed.items():
        # Kernels of two graphs may share a name; then their samples cannot be told apart and go to neither.
        ns, count = sampled.get(name, (0, 0)) if directions[name] == 1 else (0, 0)
        sources = [s for m in marks for s in json_text.items(m.get("sources")) if isinstance(s, dict)]
        lines = list(dict.fromkeys(f"{s.get('file')}:{s.get('line')}" for s in sources))
        fused = list(dict.fromkeys(str(op) for m in marks for op in json_text.items(m.get("fused"))))
        fused = fused or fused_operators(name)
        origin = str(marks[0].get("provenance", "name"))
        found.append(FusedKernel(name, direction, fused, lines, origin, len(marks), ns, count))
    names = device.text("name")
    length = device.array("end_ns") - device.array("start_ns")
    for code, name in enumerate(names.values):
        fused = fused_operators(name)
        if fused:
            mine = names.codes == code
            row = FusedKernel(name, None, fused, [], "name", 1, int(length[mine].sum()), int(mine.sum()))
            found.append(row)
    return sorted(found, key=lambda kernel: -kernel.time_ns)


def _sampled_kernels(samples: Table, stacks: Table, frames: Table) -> dict[str, tuple[int, int]]:
    """On-CPU time and samples whose innermost frame is a generated kernel, by its name."""
    names = frames.text("name")
    ours = np.array([bool(_NAME.match(name)) for name in names.values] + [False], np.bool_)[names.codes]
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    frame = np.append(rows_of(frames.array("frame"), stacks.array("frame")), -1)[at]
    busy: Array = ~samples.text("state").equals("waiting") & (frame >= 0)
    chosen = np.flatnonzero(busy & np.append(ours, False)[frame])
    total: dict[str, tuple[int, int]] = {}
    for row in chosen.tolist():
        name = names[int(frame[row])] or "?"
        ns, count = total.get(name, (0, 0))
        total[name] = (ns + int(samples.array("weight_ns")[row]), count + 1)
    return total


def _span(processes: Table, kernels: Table) -> int:
    table = processes if len(processes) else kernels
    return int(table.array("end_ns").max() - table.array("start_ns").min()) if len(table) else 0


def _union(stretches: list[tuple[int, int]]) -> int:
    total, reached = 0, None
    for start, end in sorted(stretches):
        begin = start if reached is None else max(start, reached)
        total += max(end - begin, 0)
        reached = end if reached is None else max(reached, end)
    return total
