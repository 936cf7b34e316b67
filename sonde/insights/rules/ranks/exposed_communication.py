"""Rule 51, exposed communication: collectives that run while nothing computes.

Condition: communication outside compute, less waiting for late ranks, is at least 10 % of the window
    (TensorBoard plugin's threshold).
Saving: overlapping hides 20 to 100 % of it; with k gradient-accumulation steps no_sync() saves (k-1)/k.
Not for: waiting for a straggler (rule 52), single ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.devices import device_saving, devices
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10


def judge(subject: Subject) -> Iterator[Finding]:
    devices(subject)
    shares = []
    for rank in subject.gpu.ranks:
        waiting = subject.gpu.waiting_ns.get(rank.rank, 0)
        for device in rank.devices:
            if device.time.window_ns:
                own = max(device.time.exposed_communication_ns - waiting, 0)
                shares.append(own / device.time.window_ns)
    share = float(np.mean(shares))
    if share < LEAST_SHARE:
        return
    total = sum(d.time.communication_ns for d in devices(subject))
    hidden = sum(d.time.overlap_ns for d in devices(subject)) / max(total, 1)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Communication that no compute hides takes {share:.0%} of the time",
            why="Devices exchange data while they could compute; overlapped, it would cost nothing.",
            evidence=(
                Evidence(
                    f"{total / 1e6:.1f} ms of communication on all devices, {hidden:.0%} of it behind compute"
                ),
            ),
            saving=device_saving(subject, 0.2 * share, share),
            confidence="medium",
            fix="DistributedDataParallel(model, gradient_as_bucket_view=True, bucket_cap_mb=50)\n"
            "with model.no_sync(): ...   # in all but the last of several micro-steps",
            experiment=Experiment(
                "arguments",
                target="torch.nn.parallel.DistributedDataParallel",
                arguments={"bucket_cap_mb": 50, "gradient_as_bucket_view": True},
            ),
            resource="communication",
        )
    )


RULE = Rule(
    "exposed_communication", 51, "device events", judge, scope="gpu", breadth=1, way="waiting for someone"
)
