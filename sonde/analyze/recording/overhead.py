"""What recording cost, measured in the recording itself.

Two ways, the better one that the data allows:
- `blocks`: sampling was switched on and off in pairs of short blocks, in random order, and the program's
  steps tell how much work was done in each. Work per CPU second of the program's threads is
  compared within each pair; the typical difference is the Hodges-Lehmann estimate with its 95 %
  signed-rank interval, so that a few disturbed blocks do not decide. The CPU time of the agent's own
  thread, which works in both kinds of block, is added as its clock measured it.
- `accounted`: CPU time that the agent measured in its handlers and its own thread, plus the
  kernel's part per sample, which depends on the engine and is known only within bounds: hence the interval.
What the profiling windows cost, by their own account, is added to either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde import json_text
from sonde.columns import Table

# What the kernel takes per sample beside the handler (at least, likely, at most): the signal and the way back, and
# for perf an interrupt and a message to itself. The least is of bare metal, the most of a nested guest, measured as
# what steps with a tick last longer than their neighbours, caches that must be filled again included.
_KERNEL_NS = {"timer": (1_200, 8_000, 35_000), "perf": (1_200, 15_000, 130_000)}
_FEWEST_PAIRS = 8
_MOST_PAIRS = 2_000  # the estimate looks at the mean of every two
_FEWEST_STEPS_PER_BLOCK = 3.0
_Z_95 = 1.96


@dataclass(frozen=True)
class Overhead:
    """Share of the program's CPU time; None where nothing is known."""

    share: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = "unknown"
    pairs: int = 0  # of blocks that were compared
    windows: float = 0.0  # the part of `share` that is the profiling windows'


def overhead_of(counters: Table, marks: Table, cpu_ns: int, engine: str = "perf") -> Overhead:
    """`cpu_ns`: CPU time of the program, the agent's part included. `engine`: what sampled it, as `processes` says."""
    found = _by_blocks(counters, marks, cpu_ns) or _accounted(counters, cpu_ns, engine.partition("+")[0])
    if found.share is None or found.low is None or found.high is None:
        return found
    windows = min(_windows_ns(marks) / max(cpu_ns, 1), 1.0)
    share, low, high = (min(one + windows, 1.0) for one in (found.share, found.low, found.high))
    return Overhead(share, low, high, found.method, found.pairs, windows)


def _windows_ns(marks: Table) -> int:
    """CPU time that the profiling windows took: to start, stop and save, and their steps' slowdown."""
    told = marks.text("extra").tolist()
    rows = np.flatnonzero(marks.text("kind").equals("window")).tolist()
    return sum(max(json_text.whole(json_text.object_of(told[row]).get("cost_ns"), 0), 0) for row in rows)


def _by_blocks(counters: Table, marks: Table, cpu_ns: int) -> Overhead | None:
    differences = np.array(list(_differences(marks)), np.float64)
    if len(differences) < _FEWEST_PAIRS:
        return None
    own_ns = float(counters.array("value")[counters.text("name").equals("agent_background_cpu_ns")].sum())
    background = own_ns / max(cpu_ns - own_ns, 1.0)
    share, low, high = (float(np.expm1(value)) + background for value in typical(differences))
    return Overhead(share, low, high, "blocks", len(differences))


def typical(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Hodges-Lehmann estimate of the centre of `values` with its 95 % signed-rank interval."""
    values = values[:_MOST_PAIRS]
    n = len(values)
    first, second = np.triu_indices(n)
    means = np.sort((values[first] + values[second]) / 2)
    spread = _Z_95 * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    rank = max(int(np.floor(n * (n + 1) / 4 - spread)), 0)
    return float(np.median(means)), float(means[rank]), float(means[len(means) - 1 - rank])


def _differences(marks: Table) -> Iterator[float]:
    """For each pair: logarithm of the work per CPU second without sampling over that with it."""
    kind, process = marks.text("kind"), marks.array("process")
    is_block = kind.matches(("overhead_on", "overhead_off"))
    for one in np.unique(process[is_block]):
        steps = marks.take(kind.equals("step") & (process == one))
        blocks = marks.take(is_block & (process == one))
        blocks = blocks.take(np.argsort(blocks.array("start_ns"), kind="stable"))
        windows = marks.take(kind.equals("window") & (process == one))
        rates = _log_rates(blocks, steps, windows)
        on = blocks.text("kind").equals("overhead_on")
        for first in range(0, len(blocks) - 1, 2):
            pair = rates[first : first + 2]
            if on[first] != on[first + 1] and np.isfinite(pair).all():
                yield float(pair[~on[first : first + 2]][0] - pair[on[first : first + 2]][0])


def _log_rates(blocks: Table, steps: Table, windows: Table) -> npt.NDArray[np.float64]:
    """Logarithm of steps per CPU second for each block; NaN where too few, or a profiling window disturbed it."""
    order = np.argsort(steps.array("start_ns"), kind="stable")
    start, end = steps.array("start_ns")[order], steps.array("end_ns")[order]
    length = np.maximum(end - start, 1)
    deep_start, deep_end = windows.array("start_ns"), windows.array("end_ns")
    rates = np.full(len(blocks), np.nan)
    rows = zip(
        blocks.array("start_ns").tolist(),
        blocks.array("end_ns").tolist(),
        blocks.text("extra").tolist(),
        strict=True,
    )
    for row, (begin, stop, extra) in enumerate(rows):
        cpu_ns = json_text.whole(json_text.object_of(extra).get("cpu_ns"), 0)
        # Steps of one thread follow each other; a margin of two covers those that overlap the edges.
        near = slice(max(int(np.searchsorted(start, begin)) - 2, 0), int(np.searchsorted(start, stop)))
        inside = np.clip(np.minimum(end[near], stop) - np.maximum(start[near], begin), 0, None)
        work = float((inside / length[near]).sum())
        disturbed = bool(((deep_start < stop) & (deep_end > begin)).any())
        if cpu_ns > 0 and work >= _FEWEST_STEPS_PER_BLOCK and not disturbed:
            rates[row] = np.log(work / cpu_ns)
    return rates


def _accounted(counters: Table, cpu_ns: int, clock: str) -> Overhead:
    name, value = counters.text("name"), counters.array("value")
    known = name.matches(("agent_handler_ns", "agent_background_cpu_ns", "agent_samples"))
    if not known.any() or cpu_ns <= 0:
        return Overhead()
    own_ns = float(value[name.matches(("agent_handler_ns", "agent_background_cpu_ns"))].sum())
    samples = float(value[name.equals("agent_samples")].sum())
    low, share, high = ((own_ns + samples * kernel_ns) / cpu_ns for kernel_ns in _KERNEL_NS[clock])
    return Overhead(share, low, high, "accounted")
