"""Stacks with weights of any tool → the tables frames, stacks and samples.

Shared by the importers of collapsed stacks, speedscope and `perf script`. Each
distinct frame is kept once, each distinct stack is one node of a prefix tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sonde.analyze.samples.labels import PREFIXED
from sonde.columns import Interner, Table, Text
from sonde.errors import InputError
from sonde.link import link
from sonde.store import build
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.version import __version__

_LARGEST_NS = 1 << 60  # of a time or a weight: sums of four of them fit


@dataclass(frozen=True)
class FrameKey:
    """What makes a frame distinct."""

    layer: str
    name: str
    file: str | None = None
    line: int = -1
    library: str | None = None
    address: int = -1


@dataclass
class StackSamples:
    """Collects samples; `recording` makes the tables."""

    frames: dict[FrameKey, int] = field(default_factory=dict)
    nodes: dict[tuple[int, int], int] = field(default_factory=dict)  # (parent, frame) → stack
    depth: list[int] = field(default_factory=list)
    threads: dict[tuple[int, int, str], int] = field(default_factory=dict)  # (pid, tid, name) → thread
    time_ns: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    weight_ns: list[int] = field(default_factory=list)
    losses: dict[str, tuple[int, str, str]] = field(default_factory=dict)  # cause → count, unit, detail

    def thread_of(self, pid: int, tid: int, name: str) -> int:
        return self.threads.setdefault((pid, tid, name), len(self.threads))

    def frame(self, key: FrameKey) -> int:
        return self.frames.setdefault(key, len(self.frames))

    def node(self, parent: int, key: FrameKey) -> int:
        """The stack that adds a frame to `parent` (-1: none)."""
        frame = self.frame(key)
        found = self.nodes.get((parent, frame))
        if found is None:
            found = self.nodes[parent, frame] = len(self.nodes)
            self.depth.append(1 if parent < 0 else self.depth[parent] + 1)
        return found

    def add(self, thread: int, root_first: Iterable[FrameKey], weight_ns: int, time_ns: int) -> None:
        stack = -1
        for key in root_first:
            stack = self.node(stack, key)
        self.add_node(thread, stack, weight_ns, time_ns)

    def add_node(self, thread: int, stack: int, weight_ns: int, time_ns: int) -> None:
        """A sample whose stack is a node already; -1 has no frames."""
        if stack < 0:
            return self.lose("empty_stack", "samples", "a sample has no frames")
        if weight_ns < 0:
            return self.lose("negative_weight", "samples", f"a sample weighs {weight_ns} ns; left out")
        if weight_ns > _LARGEST_NS or abs(time_ns) > _LARGEST_NS:
            detail = f"a sample at {time_ns} ns weighs {weight_ns} ns, more than 36 years; left out"
            return self.lose("time_out_of_range", "samples", detail)
        self.time_ns.append(time_ns)
        self.thread.append(thread)
        self.stack.append(stack)
        self.weight_ns.append(weight_ns)
        return None

    def lose(self, cause: str, unit: str, detail: str, count: int = 1) -> None:
        """Count something that is not in the tables; the first detail is kept."""
        before = self.losses.get(cause)
        self.losses[cause] = (count, unit, detail) if before is None else (before[0] + count, *before[1:])

    def recording(
        self, source: str, path: Path, details: dict[str, object] | None = None, program: str | None = None
    ) -> Recording:
        if sum(self.weight_ns) > 4 * _LARGEST_NS:
            raise InputError(f"the samples of {path} add up to more than 146 years, which cannot be right")
        keys = list(self.frames)
        start = min(self.time_ns, default=0)
        end = max((t + w for t, w in zip(self.time_ns, self.weight_ns, strict=True)), default=0)
        pids = Interner()
        process_of = [pids(str(pid)) for pid, _, _ in self.threads]
        count = max(1, len(pids.values))
        tables = {
            "processes": build.table(
                "processes",
                process=np.arange(count),
                pid=[int(p) for p in pids.values] or [-1],
                role=["imported"] * count,
                command=[path.name] * count,
                start_ns=[start] * count,
                end_ns=[end] * count,
                exit_code=[-1000] * count,
            ),
            "threads": build.table(
                "threads",
                len(self.threads),
                thread=np.arange(len(self.threads)),
                process=process_of,
                tid=[tid for _, tid, _ in self.threads],
                kind=["main" if tid == pid else "native" for pid, tid, _ in self.threads],
                name=[name or None for _, _, name in self.threads],
                start_ns=[start] * len(self.threads),
                end_ns=[end] * len(self.threads),
            ),
            "frames": build.table(
                "frames",
                len(keys),
                frame=np.arange(len(keys)),
                layer=[k.layer for k in keys],
                name=[k.name for k in keys],
                full_name=[k.name for k in keys],
                file=[k.file for k in keys],
                line=[k.line for k in keys],
                library=[k.library for k in keys],
                address=[k.address for k in keys],
            ),
            "stacks": self._stacks(),
            "samples": build.table(
                "samples",
                len(self.time_ns),
                time_ns=self.time_ns,
                thread=self.thread,
                stack=self.stack,
                state=Text.full(len(self.time_ns), "running"),
                weight_ns=self.weight_ns,
            ),
            "losses": loss_table(Loss(-1, cause, *rest) for cause, rest in self.losses.items()),
        }
        meta = Meta(
            sonde_version=__version__,
            source=source,
            program=program or path.name,
            directory=str(path.parent),
            duration_s=(end - start) / 1e9,
            details=details or {},
        )
        return Recording(meta, link(tables), path)

    def _stacks(self) -> Table:
        pairs = list(self.nodes)
        return build.table(
            "stacks",
            len(pairs),
            stack=np.arange(len(pairs)),
            parent=[p for p, _ in pairs],
            frame=[f for _, f in pairs],
            depth=self.depth,
        )


_PYTHON = re.compile(r"^(?P<name>[^()\s][^()]*) \((?P<file>[^()]*?\.pyx?)(:(?P<line>\d{1,9}))?\)$")
_PERF_MAP = re.compile(r"^py::(?P<name>[^:]+):(?P<file>.+)$")
_LABELLED = {f"[{layer}] ": layer for layer in PREFIXED}


def frame_of(text: str, layer: str = "native") -> FrameKey:
    """A frame by its text: `func (file.py:3)`, `py::func:file.py`, `[op] aten::mm`, or a symbol."""
    for prefix, labelled in _LABELLED.items():
        if text.startswith(prefix):
            return FrameKey(labelled, text[len(prefix) :])
    found = _PYTHON.match(text)
    if found:
        line = int(found["line"]) if found["line"] else -1
        return FrameKey("python", found["name"], found["file"], line)
    found = _PERF_MAP.match(text)
    if found:
        return FrameKey("python", found["name"], found["file"])
    if text.endswith("_[k]"):
        return FrameKey("kernel", text[:-4])
    return FrameKey(layer, text)
