"""What recording cost, measured in the recording itself.

Two ways, the better one that the data allows:
- `blocks`: sampling was switched on and off in random blocks, and the program's steps tell how
  much work was done in each. Work per CPU second on against off, with a 95 % interval over blocks.
- `accounted`: CPU time that the agent measured in its handlers and its own thread, plus the
  kernel's part per sample, which is known only within bounds: hence the interval.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.columns import Table

# Timer interrupt, signal delivery and return, per sample: 1.2 µs on bare metal, 33 µs on a nested guest.
_KERNEL_LOW_NS, _KERNEL_LIKELY_NS, _KERNEL_HIGH_NS = 1_200, 5_000, 33_000
_FEWEST_BLOCKS = 8
_FEWEST_STEPS_PER_BLOCK = 3.0


@dataclass(frozen=True)
class Overhead:
    """Share of the program's CPU time; None where nothing is known."""

    share: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = "unknown"


def overhead_of(counters: Table, marks: Table, cpu_ns: int) -> Overhead:
    """`cpu_ns`: CPU time of the program, the agent's part included."""
    return _by_blocks(marks) or _accounted(counters, cpu_ns)


def _by_blocks(marks: Table) -> Overhead | None:
    kind = marks.text("kind")
    steps = marks.take(kind.equals("step"))
    rates = {}
    for on in (True, False):
        blocks = marks.take(kind.equals("overhead_on" if on else "overhead_off"))
        rates[on] = _log_rates(blocks, steps)
    if min(len(rates[True]), len(rates[False])) < _FEWEST_BLOCKS:
        return None
    difference = float(np.mean(rates[False]) - np.mean(rates[True]))
    error = float(np.sqrt(sum(np.var(r, ddof=1) / len(r) for r in rates.values())))
    share, low, high = (float(np.expm1(difference + z * error)) for z in (0.0, -1.96, 1.96))
    return Overhead(share, low, high, "blocks")


def _log_rates(blocks: Table, steps: Table) -> npt.NDArray[np.float64]:
    """Logarithm of steps per CPU second for each block that held enough of them."""
    start, end = steps.array("start_ns"), steps.array("end_ns")
    length = np.maximum(end - start, 1)
    rates = []
    for begin, stop, extra in zip(
        blocks.array("start_ns").tolist(),
        blocks.array("end_ns").tolist(),
        blocks.text("extra").tolist(),
        strict=True,
    ):
        cpu_ns = json.loads(extra or "{}").get("cpu_ns", 0)
        inside = np.clip(np.minimum(end, stop) - np.maximum(start, begin), 0, None)
        work = float((inside / length).sum())
        if cpu_ns > 0 and work >= _FEWEST_STEPS_PER_BLOCK:
            rates.append(np.log(work / cpu_ns))
    return np.array(rates, np.float64)


def _accounted(counters: Table, cpu_ns: int) -> Overhead:
    name, value = counters.text("name"), counters.array("value")
    known = name.matches(("agent_handler_ns", "agent_background_cpu_ns", "agent_samples"))
    if not known.any() or cpu_ns <= 0:
        return Overhead()
    own_ns = float(value[name.matches(("agent_handler_ns", "agent_background_cpu_ns"))].sum())
    samples = float(value[name.equals("agent_samples")].sum())
    share, low, high = (
        (own_ns + samples * kernel_ns) / cpu_ns
        for kernel_ns in (_KERNEL_LIKELY_NS, _KERNEL_LOW_NS, _KERNEL_HIGH_NS)
    )
    return Overhead(share, low, high, "accounted")
