"""How good a recording is, by its own tables: what was lost, attributed and spent.

In: the tables processes, threads, frames, stacks, samples, counters, marks and losses. Out: a
`Quality`, which `sonde show REC quality` shows. `attributed` shares are of on-CPU time in samples with a stack: each
sample counts by the time that it stands for. Shares that judge stack walks count samples.
CPU time that no sample stands for (residual) counts in `cpu_s` alone, which is `sonde.analyze.recording.account`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.recording.account import Account, account
from sonde.analyze.recording.overhead import Overhead, overhead_of
from sonde.analyze.samples.stack_index import OBSERVERS
from sonde.columns import Table

Mask = npt.NDArray[np.bool_]
_NOT_THE_USERS = re.compile(
    r"/(?:site|dist)-packages/|" + OBSERVERS + r"|/lib/python3\.\d+/|^<frozen |^<string>$|^\?$"
)


@dataclass(frozen=True)
class Attributed:
    """Shares 0..1 of the CPU time of a group of samples; None where the group is empty."""

    samples: int
    python: float | None  # a Python frame of the user's program
    op: float | None
    module: float | None
    leaf: float | None  # the innermost frame has a name, or is known to be waiting for others
    root: float | None  # the walk reached the thread's first frame, for a worker its owner's


@dataclass(frozen=True)
class PerSample:
    """What one sample takes while the program stands still, by the agent's clock; of the busiest process."""

    walk_p50_ns: float  # the native stack, the owner's and the Python frames
    walk_p95_ns: float
    handler_p50_ns: float  # the whole handler; entering and leaving it is the kernel's
    handler_p95_ns: float


@dataclass(frozen=True)
class Quality:
    """What `sonde show REC quality` shows."""

    samples: int
    engines: list[str]  # what made the samples; more than one where processes differ
    waits: int
    duration_s: float
    cpu: Account
    lost: dict[str, int]
    overhead: Overhead
    attributed: dict[str, Attributed]
    heuristic: float | None  # share of samples with a step found by a heuristic
    per_sample: PerSample | None  # None: recorded by another tool
    anchor_missed: float | None  # share of checked walks that missed the interpreter's frame


def quality(tables: Mapping[str, Table]) -> Quality:
    """`tables` by name; those that a source does not have may be empty."""
    samples, threads, processes = tables["samples"], tables["threads"], tables["processes"]
    on_cpu = ~samples.text("state").equals("waiting")
    seen = on_cpu & ~samples.text("walk").equals("residual") & ~_own_threads(samples, threads)
    marked = _StackFacts(tables["frames"], tables["stacks"])
    stack = samples.array("stack")
    jit = seen & marked.leaf_jit[stack]
    spinning = samples.text("state").equals("spinning")  # after a region, when there is an owner
    workers = seen & (samples.array("owner") >= 0) & ~spinning
    groups = {"all": seen, "jit": jit, "workers": workers}
    cpu = account(tables)
    engines = sorted({engine for engine in processes.text("engine").tolist() if engine})
    return Quality(
        samples=int(seen.sum()),
        engines=engines,
        waits=int((~on_cpu).sum()),
        duration_s=_duration_s(processes, samples),
        cpu=cpu,
        lost=_lost(tables["losses"]),
        overhead=overhead_of(
            tables["counters"], tables["marks"], cpu.sampled_ns, min(engines, default="perf")
        ),
        attributed={name: _attributed(samples, mask, marked) for name, mask in groups.items()},
        heuristic=_share(marked.heuristic[stack], seen),
        per_sample=_per_sample(tables["counters"]),
        anchor_missed=_share(samples.text("anchor").equals("missed"), seen & ~_unchecked(samples)),
    )


def _per_sample(counters: Table) -> PerSample | None:
    name, value, process = counters.text("name"), counters.array("value"), counters.array("process")
    counted = np.flatnonzero(name.equals("agent_samples"))
    if not len(counted):
        return None
    mine = process == process[counted[np.argmax(value[counted])]]
    found = {}
    for wanted in PerSample.__dataclass_fields__:
        rows = np.flatnonzero(mine & name.equals(f"agent_{wanted}"))
        if not len(rows):
            return None
        found[wanted] = float(value[rows[-1]])
    return PerSample(**found)


class _StackFacts:
    """Per stack node: what its frames, from the root to it, contain. Index -1 is the empty stack."""

    def __init__(self, frames: Table, stacks: Table) -> None:
        frame, parent = stacks.array("frame"), stacks.array("parent")
        layer, full = frames.text("layer"), frames.text("full_name")
        named = full.codes >= 0
        self.op = self._within(layer.equals("op")[frame], parent)
        self.module = self._within(layer.equals("module")[frame], parent)
        self.python = self._within(_user_frames(frames)[frame], parent)
        self.heuristic = self._within(stacks.array("heuristic"), parent)
        self.leaf_named = _with_empty(named[frame])
        self.leaf_jit = _with_empty(layer.equals("jit")[frame])

    @staticmethod
    def _within(own: Mask, parent: npt.NDArray[np.int32]) -> Mask:
        """True where the node or any of its callers is; by pointer doubling, log(depth) rounds."""
        held = _with_empty(own)
        jump = np.append(parent, -1).astype(np.int64)
        while (jump >= 0).any():
            held = held | held[jump]
            jump = jump[jump]
        return held


def _with_empty(values: Mask) -> Mask:
    return np.append(values, False)


def _user_frames(frames: Table) -> Mask:
    """Python frames of the user's own files; of any file when the program has none (python -m package)."""
    python = frames.text("layer").equals("python")
    files = frames.text("file")
    own = np.array([not _NOT_THE_USERS.search(f) for f in files.values] + [False], np.bool_)
    users: Mask = python & own[files.codes]
    return users if users.any() else python


def _attributed(samples: Table, mask: Mask, marked: _StackFacts) -> Attributed:
    stack, weight = samples.array("stack"), samples.array("weight_ns")
    state = samples.text("state")
    busy_waiting = state.matches(("spinning", "imbalance"))
    missed = samples.text("anchor").equals("missed")
    return Attributed(
        samples=int(mask.sum()),
        python=_share(marked.python[stack], mask, weight),
        op=_share(marked.op[stack], mask, weight),
        module=_share(marked.module[stack], mask, weight),
        leaf=_share(marked.leaf_named[stack] | busy_waiting, mask, weight),
        root=_share(samples.text("walk").equals("root") & ~missed, mask, weight),
    )


def _share(hit: Mask, mask: Mask, weight: npt.NDArray[np.int64] | None = None) -> float | None:
    """Of the samples in `mask`, by number or by weight."""
    counts = np.ones(len(mask), np.int64) if weight is None else weight
    whole = int(counts[mask].sum())
    return int(counts[hit & mask].sum()) / whole if whole else None


def _unchecked(samples: Table) -> Mask:
    return samples.text("anchor").equals("none")


def _own_threads(samples: Table, threads: Table) -> Mask:
    """Samples of Sonde's own threads."""
    own = threads.array("thread")[threads.text("kind").equals("sonde")]
    return np.asarray(np.isin(samples.array("thread"), own))


def _duration_s(processes: Table, samples: Table) -> float:
    if len(processes):
        return float(processes.array("end_ns").max() - processes.array("start_ns").min()) / 1e9
    times = samples.array("time_ns")
    return float(times.max() - times.min()) / 1e9 if len(times) else 0.0


def _lost(losses: Table) -> dict[str, int]:
    total: dict[str, int] = {}
    for cause, count in zip(losses.text("cause").tolist(), losses.array("count").tolist(), strict=True):
        total[cause or "unknown"] = total.get(cause or "unknown", 0) + count
    return total
