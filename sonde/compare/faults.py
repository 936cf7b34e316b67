"""Page faults: work of the kernel whose amount differs from run to run of one program.

Whether glibc gives freed memory back to the system, and so has it zeroed and mapped again with the next step, depends
on what happens to lie at the top of the heap. Equal runs of one program had 100 and 2,500 faults per step, at 2 µs
each. In: `counters`. Out: faults and system time per step. One run each cannot tell such a difference from a change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.columns import Table

# A fault on fresh memory takes 1 to 2 µs, most of it for zeroing the page: 1.9 µs were measured here.
MOST_NS_PER_FAULT = 2500.0


@dataclass(frozen=True)
class Faults:
    """Of one step, or of the run."""

    count: float = 0.0
    system_ms: float = 0.0

    def ms(self, ns_each: float) -> float:
        return min(self.count * ns_each / 1e6, self.system_ms)


NONE = Faults()


def faults(counters: Table, process: int, start_ns: int, end_ns: int, steps: int) -> Faults:
    """Between two moments, divided by the steps in between."""
    found = [_risen(counters, process, name, start_ns, end_ns) for name in ("minor_faults", "cpu_system_ns")]
    return Faults(found[0] / max(steps, 1), found[1] / 1e6 / max(steps, 1))


def ns_each(known: list[Faults]) -> float:
    """What a fault costs at most: no more than the system time that went with them, on any side."""
    bounds = [f.system_ms * 1e6 / f.count for f in known if f.count > 0]
    return min([MOST_NS_PER_FAULT, *bounds])


def _risen(counters: Table, process: int, name: str, start_ns: int, end_ns: int) -> float:
    rows = np.flatnonzero(counters.text("name").equals(name) & (counters.array("process") == process))
    if len(rows) < 2:
        return 0.0
    order = rows[np.argsort(counters.array("time_ns")[rows], kind="stable")]
    at = np.interp([start_ns, end_ns], counters.array("time_ns")[order], counters.array("value")[order])
    return max(float(at[1] - at[0]), 0.0)
