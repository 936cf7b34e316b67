"""What one raw log holds, decoded: plain numpy columns, one class per record type.

`sonde.ingest.agent.decode` makes a `RawLog` from a file of `native/agent/log/format.h`;
`sonde.ingest.agent` turns one or many into the tables of a recording.

Conventions, kept by the decoder:
- ids are dense: row i of `nodes`, `python_nodes` and `codes` has id i + 1, parents
  come before children, and 0 means none. Node epochs and code numbers of the
  file are resolved while decoding, so an id means one thing in the whole log.
- addresses (pc, start, end, pointer) are uint64; times are CLOCK_MONOTONIC ns, int64.
- `samples` and `waits` keep the order of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sonde.columns import Text

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]

FOREVER_NS = np.iinfo(np.int64).max

THREAD_KINDS = ("ordinary", "main", "agent", "unknown")
STATES = ("running", "spinning", "imbalance", "waiting")
REASONS = ("none", "lock", "gil", "io", "sleep", "fault", "preempted", "idle", "other")
WALK_ENDS = (
    "root",
    "truncated",
    "no_cfi",
    "no_caller",
    "bad_cfa",
    "bad_rule",
    "bad_pc",
    "off_stack",
    "unreadable",
)
# A sample without a stack: CPU time that a thread used after its last tick, or all of it when the
# thread was too short for one. It keeps the sum of weights equal to the CPU time.
WALK_RESIDUAL = 15


@dataclass(frozen=True)
class Header:
    """Who wrote the log. A log may repeat it (Python found late): the last one counts."""

    pid: int
    parent_pid: int = -1
    start_ns: int = 0
    epoch_offset_ns: int = 0
    rate_hz: float = 0.0
    engine: str = ""
    python_version: str = ""  # "3.11.7", "" when the program has no interpreter
    command: str = ""
    followed_fork: bool = False
    executed: bool = False  # the process replaced its program: an earlier log of the same pid exists


@dataclass(frozen=True)
class Footer:
    """Last words of a process that ended in order; absent after a crash."""

    end_ns: int
    epoch_offset_ns: int = 0
    user_ns: int = -1
    system_ns: int = -1
    max_rss_bytes: int = -1
    replaced: bool = False  # ended by exec: the process lives on as another program


@dataclass(frozen=True)
class RawThreads:
    number: I32  # thread number of the log, as samples use it
    tid: I64
    start_ns: I64
    end_ns: I64  # -1: no ThreadEnd seen
    cpu_ns: I64  # -1: no ThreadEnd seen
    name: Text  # last known
    kind: U8  # index into THREAD_KINDS
    routine: U64  # address of the start routine, 0 unknown


@dataclass(frozen=True)
class RawMappings:
    start: U64
    end: U64
    offset: U64  # file offset of `start`
    from_ns: I64
    until_ns: I64  # FOREVER_NS when never unmapped
    path: Text
    build_id: Text  # hex, null when the file has none


@dataclass(frozen=True)
class RawNodes:
    """Native prefix tree: the parent is the caller, 0 above the root."""

    parent: I32
    pc: U64  # exact for leaves and interrupted frames, the return address for callers
    flags: U8  # FrameFlag bits of unwind.h


@dataclass(frozen=True)
class RawPythonNodes:
    """Python prefix tree: the parent is the caller, 0 above the root."""

    parent: I32
    code: I32  # id in `codes`, 0 when it could not be read
    instruction: I32  # byte offset in the code, -1 unknown
    entry: npt.NDArray[np.bool_]  # first frame of an interpreter call: one native eval frame each
    self_pointer: U64  # 0 when the frame is no module call


@dataclass(frozen=True)
class RawCodes:
    name: Text  # qualified name
    file: Text
    first_line: I32
    line_table: list[bytes]  # co_linetable of the interpreter's version; b"" when it was not read


@dataclass(frozen=True)
class RawSamples:
    """Samples, or waits (then weight is wall time off the CPU)."""

    thread: I32  # thread number
    time_ns: I64
    native: I32  # leaf's node id
    python: I32  # leaf's Python node id; for a worker the owner's Python stack
    owner: I32  # owner's thread number, -1 none
    owner_native: I32  # node id of the owner's stack where it opened the region, 0 none
    weight_ns: I64
    state: U8  # SampleState
    reason: U8  # WaitReason
    walk_end: U8  # index into WALK_ENDS, or WALK_RESIDUAL
    owner_walk_end: U8  # WalkEnd of the owner's walk
    anchor: U8  # 0 nothing to check, 1 missed, 2 hit
    handler_ns: I64  # how long the program stood still for the sample; 0 for waits


@dataclass(frozen=True)
class RawJit:
    time_ns: I64  # from then on
    start: U64
    size: I64
    name: Text
    source: Text  # perfmap, jitdump, functions (GDB's list) or region


@dataclass(frozen=True)
class RawLosses:
    cause: Text
    unit: Text
    count: I64
    detail: Text


@dataclass(frozen=True)
class RawCounters:
    time_ns: I64
    name: Text
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class RawBlocks:
    """Overhead blocks: sampling on or off, and the process CPU time used in them."""

    start_ns: I64
    end_ns: I64
    on: npt.NDArray[np.bool_]
    cpu_ns: I64


@dataclass(frozen=True)
class RawModules:
    time_ns: I64
    pointer: U64
    path: Text


@dataclass(frozen=True)
class Cut:
    """A ring has only the end of the process's log: from when on, and the CPU time that was used before."""

    from_ns: int
    user_ns: int
    system_ns: int


@dataclass(frozen=True)
class RawLog:
    """One process's log. `statistics` are the agent's own figures, last value by name."""

    header: Header
    threads: RawThreads
    mappings: RawMappings
    nodes: RawNodes
    python_nodes: RawPythonNodes
    codes: RawCodes
    samples: RawSamples
    waits: RawSamples
    jit: RawJit
    losses: RawLosses
    counters: RawCounters
    blocks: RawBlocks
    modules: RawModules
    footer: Footer | None = None
    statistics: dict[str, int] = field(default_factory=dict)
    truncated_bytes: int = 0  # bytes after the last whole chunk; also a row of `losses`
    size_bytes: int = 0
    cut: Cut | None = None
