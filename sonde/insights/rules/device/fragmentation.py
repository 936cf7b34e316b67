"""Rule 8, device memory near its limit or fragmented.

Condition: in a trace with memory events, reserved memory is at least 1 GB and exceeds the peak in use by
    more than 20 %.
Saving: none in time before the allocator has to retry; room for a larger batch.
Not for: traces without memory events.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE, LEAST_BYTES = 0.20, 1e9


def judge(subject: Subject) -> Iterator[Finding]:
    memory = subject.table("memory")
    on_device = ~memory.text("device").equals("cpu") & (memory.array("reserved_bytes") > 0)
    if not on_device.any():
        raise NotEnough("no memory events of a device: record with profile_memory=True")
    reserved = float(np.max(memory.array("reserved_bytes")[on_device]))
    used = float(np.max(memory.array("allocated_bytes")[on_device]))
    share = (reserved - used) / reserved
    if reserved < LEAST_BYTES or share < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{share:.0%} of the reserved GPU memory is never used",
            why="Blocks of many sizes leave holes; freeing and requesting memory again then stops the device.",
            evidence=(Evidence(f"{reserved / 1e9:.1f} GB reserved, at most {used / 1e9:.1f} GB in use"),),
            saving=None,
            confidence="low",
            fix="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            experiment=Experiment(
                "environment", environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
            ),
            resource="device",
        )
    )


RULE = Rule(
    "fragmentation", 8, "memory events of a device", judge, scope="gpu", breadth=2, way="in another format"
)
