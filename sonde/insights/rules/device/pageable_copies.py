"""Rule 5, pageable copies to the device.

Condition: copies from pageable host memory take at least 2 % of the window.
Saving: bytes·(1/bw_pageable - 1/bw_pinned): pinned copies run two to three times as fast and do not stop
    the host: 30 to 100 %.
Not for: copies of a few bytes (latency decides) and pinned memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.devices import device_saving, mean_rank_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.02
FEWEST_BYTES = 1 << 20


def judge(subject: Subject) -> Iterator[Finding]:
    rows = [
        c for r in subject.gpu.ranks for c in r.copies if c.direction == "HtoD" and c.memory == "pageable"
    ]
    size = sum(c.bytes for c in rows)
    share = mean_rank_share(
        subject,
        lambda r: float(
            sum(c.total_ns for c in r.copies if c.direction == "HtoD" and c.memory == "pageable")
        ),
    )
    if share < LEAST_SHARE or size < FEWEST_BYTES:
        return
    total_ns = sum(c.total_ns for c in rows)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Copies from pageable memory take {share:.0%} of the time",
            why="The driver first copies pageable memory into a pinned buffer, and the host waits for it.",
            evidence=(
                Evidence(
                    f"{sum(c.calls for c in rows)} copies, {size / 1e6:.1f} MB at {size / max(total_ns, 1):.1f} GB/s",
                    "kernel",
                    "Memcpy HtoD (Pageable -> Device)",
                ),
            ),
            saving=device_saving(subject, 0.3 * share, share),
            confidence="high",
            fix="loader = DataLoader(..., pin_memory=True)\nx = x.to(device, non_blocking=True)",
            experiment=Experiment(
                "arguments", target="torch.utils.data.DataLoader", arguments={"pin_memory": True}
            ),
            resource="device",
        )
    )


RULE = Rule("pageable_copies", 5, "device copies", judge, scope="gpu", breadth=0, way="in another format")
