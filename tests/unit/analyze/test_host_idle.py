"""Idle time of a device by the program's own regions, against counting millisecond by millisecond."""

from __future__ import annotations

import random

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.ranks.host_idle import _regions
from sonde.store import build


def test_each_idle_moment_belongs_to_the_innermost_region_around_it() -> None:
    random.seed(3)
    regions = []  # nested, some side by side
    for outer in range(0, 900, 100):
        regions.append((outer, outer + 90, f"outer {outer % 3}"))
        inner = outer + random.randrange(5, 20)
        regions.append((inner, inner + random.randrange(10, 30), "inner"))
        regions.append((outer + 60, outer + random.randrange(62, 85), "late"))
    starts = np.array(sorted(random.sample(range(1000), 60)))
    idle = union(starts, starts + 7)
    ops = build.table(
        "ops",
        op=np.arange(len(regions)),
        thread=np.zeros(len(regions), np.int64),
        start_ns=np.array([r[0] for r in regions]),
        end_ns=np.array([r[1] for r in regions]),
        name=[r[2] for r in regions],
        kind=["annotation"] * len(regions),
    )
    counted: dict[str, int] = {}
    for moment in range(1000):
        around = [r for r in regions if r[0] <= moment < r[1]]
        if around and any(s <= moment < e for s, e in zip(idle.starts, idle.ends, strict=True)):
            name = max(around)[2]  # the one that began last
            counted[name] = counted.get(name, 0) + 1
    assert dict(_regions(idle, ops)) == counted
