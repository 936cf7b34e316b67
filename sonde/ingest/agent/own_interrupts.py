"""Kernel frames of the very interrupt that made the sample are left out: the thread was in its own code.

With the engine timer+kernel perf looks into the kernel at its tick, by a clock of its own. When that is a few
microseconds late it finds the kernel at work on the tick, and on the signal that is the sample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.ingest.agent.log import RawLog, RawSamples
from sonde.ingest.agent.native_frames import FLAG_KERNEL, NativeFrames

ENGINE = "timer+kernel"
_TICK = "asm_sysvec_apic_timer_interrupt"  # x86-64


def without_own_interrupts(log: RawLog, samples: RawSamples, native: NativeFrames) -> RawSamples:
    """The samples of a log, those in the kernel's tick as in the code that it interrupted."""
    if log.header.engine != ENGINE:
        return samples
    in_kernel = np.concatenate([[False], (log.nodes.flags & FLAG_KERNEL) != 0])
    leaves = samples.native.copy()
    for leaf in np.unique(leaves[in_kernel[leaves]]).tolist():
        entry = leaf
        while in_kernel[parent := int(log.nodes.parent[entry - 1])]:
            entry = parent
        if native.kernel_name(entry) == _TICK and parent:
            leaves[leaves == leaf] = parent
    return replace(samples, native=leaves)
