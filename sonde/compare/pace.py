"""How long a step takes: by the clock on the wall, and by what the program itself did.

In: marks, samples and threads of a recording. Out: `Pace`. On a busy machine a program that could run stands still
for most of the time, and the clock on the wall tells how many neighbours it had. `own_ms` does not count that: it
is the CPU time that the main thread worked (busy waiting for others left out) and the time that it waited for
something (input, locks, sleep). Both are in ms per step, or of the whole run when there are no steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.columns import Array, Table
from sonde.compare.blocks import Blocks
from sonde.compare.faults import NONE, Faults

# Blocks need some CPU time each: a tick of 10 ms at either end of 0.3 s is 3 %.
LEAST_BLOCK_MS = 300.0
FASTEST_SHARE = 0.5  # of the blocks: neighbours slow a program down and never make it faster
FEWEST_BLOCKS = 4
# Waits that a program asks for. Short ones are counted together, so where each fell is not known: they are spread over
# all steps. Others (locks, faults) come in lumps when the machine is busy, and stay in the block that they fell into.
MEANT = ("sleep", "io")
WAIT_DOUBT = 0.25  # of their time: on a busy machine the end of a wait and the return to the CPU are hard to tell apart
STEP_SCATTER = 0.10  # assumed between steps where there are too few to measure it


@dataclass(frozen=True)
class Pace:
    """`own_ms` has a value per block of steps; it is empty when the main thread was not sampled."""

    wall_ms: Array  # of each steady step, or of the run
    own_ms: Array
    taken: float  # share of the wall time in which the main thread was ready to run but off the CPU
    faults: Faults = NONE  # per step
    asleep_ms: float = 0.0  # of `own_ms`: waits that are meant

    @property
    def wall(self) -> float:
        return max(float(np.median(self.wall_ms)), 1e-9) if len(self.wall_ms) else float("nan")

    @property
    def own(self) -> float:
        """Mean of the faster half of the blocks: what the program takes where it is disturbed least."""
        return max(float(self._fastest.mean()), 1e-9) if len(self.own_ms) else self.wall

    @property
    def _fastest(self) -> Array:
        kept = max(int(np.ceil(len(self.own_ms) * FASTEST_SHARE)), min(FEWEST_BLOCKS, len(self.own_ms)))
        return np.sort(self.own_ms)[:kept]

    @property
    def own_error(self) -> float:
        """Relative error of `own` that follows from the spread between blocks."""
        kept = self._fastest
        if len(kept) < 2:
            return 0.0
        spread = float(kept.std(ddof=1) / np.sqrt(len(kept)) / kept.mean())
        return float(np.hypot(spread, WAIT_DOUBT * self.asleep_ms / self.own))

    @property
    def wall_error(self) -> float:
        """Relative error of the median step, from ten stretches of steps; of few steps, by what is usual."""
        if len(self.wall_ms) < FEWEST_BLOCKS:
            return STEP_SCATTER / float(np.sqrt(max(len(self.wall_ms), 1)))
        parts = [np.median(part) for part in np.array_split(self.wall_ms, min(10, len(self.wall_ms) // 2))]
        return float(np.std(np.log(np.maximum(parts, 1e-9)), ddof=1) / np.sqrt(len(parts)))


def pace(
    wall_ms: Array, samples: Table, threads: Table, process: int, blocks: Blocks, faults: Faults = NONE
) -> Pace:
    """Of the main thread of one process, over `blocks`."""
    row = rows_of(threads.array("thread"), samples.array("thread"))
    at = np.maximum(row, 0)
    if not len(threads) or not len(samples):
        return Pace(wall_ms, np.empty(0), 0.0, faults)
    main = (row >= 0) & threads.text("kind").equals("main")[at] & (threads.array("process")[at] == process)
    mine = samples.take(main)
    state, reason = mine.text("state"), mine.text("reason")
    time_ns, weight_ns = mine.array("time_ns"), mine.array("weight_ns")
    waiting = state.equals("waiting")
    preempted = waiting & reason.equals("preempted")
    span_ns = int(samples.array("time_ns").max() - samples.array("time_ns").min())
    taken = float(weight_ns[preempted].sum()) / span_ns if span_ns > 0 else 0.0
    working = np.flatnonzero(state.equals("running"))
    if not len(working):
        return Pace(wall_ms, np.empty(0), min(taken, 1.0), faults)
    block = blocks.at(time_ns)
    used = working[block[working] >= 0]
    spent = np.bincount(block[used], weight_ns[used], blocks.count).astype(np.float64)
    meant = np.zeros(blocks.count)
    for i in np.flatnonzero(waiting & ~preempted & ~reason.equals("idle")).tolist():
        into = meant if reason[i] in MEANT else spent
        into += blocks.overlap(int(time_ns[i]), int(time_ns[i] + weight_ns[i]))
    asleep_ms = float(meant.sum()) / 1e6 / max(int(blocks.steps.sum()), 1)
    own = _joined(spent / 1e6, blocks.steps) + asleep_ms
    return Pace(wall_ms, own if own.sum() > 0 else np.empty(0), min(taken, 1.0), faults, asleep_ms)


def _joined(spent_ms: Array, steps: Array) -> Array:
    """Time per step, neighbouring blocks joined until each has enough to be measured by ticks."""
    most = max(int(spent_ms.sum() / LEAST_BLOCK_MS), 1)
    groups = (np.arange(len(spent_ms)) * min(most, len(spent_ms))) // max(len(spent_ms), 1)
    return np.bincount(groups, spent_ms) / np.maximum(np.bincount(groups, steps), 1)
