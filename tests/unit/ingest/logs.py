"""Raw logs made by hand, for tests: a few nodes, codes and samples, everything else empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.columns import Text
from sonde.ingest.agent import log as raw
from sonde.symbols.cache import Resolved
from sonde.symbols.kernel import KernelNames

LIBRARY = "/lib/libwork.so"
BASE = 0x10000


@dataclass
class LogBuilder:
    """Collects rows; `build()` makes the RawLog. Native functions are named by their offset in LIBRARY."""

    python_version: str = "3.11.7"
    engine: str = "timer"
    pid: int = 100
    parent_pid: int = 1
    start_ns: int = 0
    functions: dict[int, str] = field(default_factory=dict)
    nodes: list[tuple[int, int, int]] = field(default_factory=list)
    python_nodes: list[tuple[int, int, int, bool, int]] = field(default_factory=list)
    codes: list[tuple[str, str, int, bytes]] = field(default_factory=list)
    samples: list[dict[str, int]] = field(default_factory=list)
    waits: list[dict[str, int]] = field(default_factory=list)
    jit: list[tuple[int, int, int, str | None, str]] = field(default_factory=list)
    modules: list[tuple[int, int, str]] = field(default_factory=list)
    losses: list[tuple[str, str, int, str]] = field(default_factory=list)
    blocks: list[tuple[int, int, bool, int]] = field(default_factory=list)
    threads: list[tuple[int, int, int, str, int]] = field(default_factory=lambda: [(0, 100, 1, "main", 0)])
    counters: list[tuple[int, str, float]] = field(default_factory=list)
    footer: raw.Footer | None = None

    def native(self, *names: str, parent: int = 0, flags: int = 0) -> int:
        """A chain of native frames below `parent`; the leaf's node."""
        for name in names:
            offset = next((o for o, n in self.functions.items() if n == name), None)
            if offset is None:
                offset = 0x100 * (len(self.functions) + 1)
                self.functions[offset] = name
            is_eval = 8 if name == "_PyEval_EvalFrameDefault" else 0
            parent = self.node(parent, BASE + offset + 0x10, flags | is_eval)
        return parent

    def node(self, parent: int, pc: int, flags: int = 0) -> int:
        row = (parent, pc, flags)
        if row not in self.nodes:
            self.nodes.append(row)
        return self.nodes.index(row) + 1

    def python(self, *names: str, parent: int = 0, entry: Sequence[str] = (), self_pointer: int = 0) -> int:
        """A chain of Python functions below `parent`, those in `entry` called from C."""
        for name in names:
            code = (name, "/home/me/model.py", 10 * (len(self.codes) + 1), b"")
            known = [c[0] for c in self.codes]
            if name not in known:
                self.codes.append(code)
            number = [c[0] for c in self.codes].index(name) + 1
            row = (parent, number, 0, name in entry, self_pointer)
            if row not in self.python_nodes:
                self.python_nodes.append(row)
            parent = self.python_nodes.index(row) + 1
        return parent

    def sample(self, **values: int) -> None:
        self.samples.append(values)

    def names(self) -> FakeNames:
        return FakeNames(self.functions)

    def build(self) -> raw.RawLog:
        nodes, python = _columns(self.nodes, 3), _columns(self.python_nodes, 5)
        codes, threads, jit = _columns(self.codes, 4), _columns(self.threads, 5), _columns(self.jit, 5)
        modules, losses = _columns(self.modules, 3), _columns(self.losses, 4)
        blocks, counters = _columns(self.blocks, 4), _columns(self.counters, 3)
        count = len(self.threads)
        return raw.RawLog(
            header=raw.Header(
                self.pid,
                self.parent_pid,
                self.start_ns,
                engine=self.engine,
                python_version=self.python_version,
                command="python\0model.py\0",
            ),
            threads=raw.RawThreads(
                np.array(threads[0], np.int32),
                np.array(threads[1], np.int64),
                np.zeros(count, np.int64),
                np.full(count, -1, np.int64),
                np.full(count, -1, np.int64),
                Text.of(threads[3]),
                np.array(threads[2], np.uint8),
                np.array(threads[4], np.uint64),
            ),
            mappings=raw.RawMappings(
                np.array([BASE], np.uint64),
                np.array([BASE + 0x10000], np.uint64),
                np.array([0], np.uint64),
                np.array([0], np.int64),
                np.array([raw.FOREVER_NS], np.int64),
                Text.of([LIBRARY]),
                Text.of(["abc"]),
            ),
            nodes=raw.RawNodes(
                np.array(nodes[0], np.int32), np.array(nodes[1], np.uint64), np.array(nodes[2], np.uint8)
            ),
            python_nodes=raw.RawPythonNodes(
                np.array(python[0], np.int32),
                np.array(python[1], np.int32),
                np.array(python[2], np.int32),
                np.array(python[3], np.bool_),
                np.array(python[4], np.uint64),
            ),
            codes=raw.RawCodes(
                Text.of(codes[0]), Text.of(codes[1]), np.array(codes[2], np.int32), list(codes[3])
            ),
            samples=_samples(self.samples),
            waits=_samples(self.waits),
            jit=raw.RawJit(
                np.array(jit[0], np.int64),
                np.array(jit[1], np.uint64),
                np.array(jit[2], np.int64),
                Text.of(jit[3]),
                Text.of(jit[4]),
            ),
            losses=raw.RawLosses(
                Text.of(losses[0]), Text.of(losses[1]), np.array(losses[2], np.int64), Text.of(losses[3])
            ),
            counters=raw.RawCounters(
                np.array(counters[0], np.int64), Text.of(counters[1]), np.array(counters[2], np.float64)
            ),
            blocks=raw.RawBlocks(
                np.array(blocks[0], np.int64),
                np.array(blocks[1], np.int64),
                np.array(blocks[2], np.bool_),
                np.array(blocks[3], np.int64),
            ),
            modules=raw.RawModules(
                np.array(modules[0], np.int64), np.array(modules[1], np.uint64), Text.of(modules[2])
            ),
            footer=self.footer,
            statistics={"handler_ns": 5},
        )


@dataclass
class FakeNames:
    """A resolver that knows one library: 0x100 bytes per function."""

    functions: dict[int, str]
    kernel: KernelNames = field(default_factory=KernelNames)

    def kernel_names(self, boot_id: int | None) -> KernelNames:
        return self.kernel

    def resolve(self, path: str, build_id: str | None, offsets: Sequence[int]) -> list[Resolved]:
        result = []
        for offset in offsets:
            start = offset // 0x100 * 0x100
            name = self.functions.get(start, "") if path == LIBRARY else ""
            result.append(Resolved(offset, start, name) if name else Resolved(offset, -1, ""))
        return result


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


def _samples(rows: list[dict[str, int]]) -> raw.RawSamples:
    def column(name: str, kind: type, default: int) -> Any:
        return np.array([row.get(name, default) for row in rows], kind)

    return raw.RawSamples(
        thread=column("thread", np.int32, 0),
        time_ns=column("time_ns", np.int64, 0),
        native=column("native", np.int32, 0),
        python=column("python", np.int32, 0),
        owner=column("owner", np.int32, -1),
        owner_native=column("owner_native", np.int32, 0),
        weight_ns=column("weight_ns", np.int64, 10_000_000),
        state=column("state", np.uint8, 0),
        reason=column("reason", np.uint8, 0),
        walk_end=column("walk_end", np.uint8, 0),
        owner_walk_end=column("owner_walk_end", np.uint8, 0),
        anchor=column("anchor", np.uint8, 0),
        handler_ns=column("handler_ns", np.int64, 0),
    )
