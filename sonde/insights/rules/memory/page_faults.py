"""Rule 31, page faults and malloc trim: memory is requested from the system and returned in every step.

Condition: the stepping thread is in the kernel's memory management (faults, mapping, unmapping) for at least
    35 % of the step; where kernel frames could not be recorded, system time is that share of all CPU time
    and there are 1000 faults per second. At least 4 MB of fresh memory per step either way.
Saving: from 40 % of that time to all of it and half again, for the caches that clearing pages empties.
Not for: faults of the first touch of memory that stays, small buffers, programs with these settings already.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES
from sonde.analyze.account.places import NOBODY
from sonde.insights.cold import page_work
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_SHARE = 0.35  # catalogue: 3 %; so much more, because less is often not won back (ours)
LEAST_FAULTS_PER_S = 1000.0
LEAST_BYTES_PER_STEP = 4e6
PAGE_BYTES = 4096
MOVING = ("allocation", "memory", "copies")
TUNABLES = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "2147483648",
    "MALLOC_TOP_PAD_": "67108864",
}


def judge(subject: Subject) -> Iterator[Finding]:
    faults = subject.counter_steady("minor_faults")
    system, user = subject.counter_steady("cpu_system_ns"), subject.counter_steady("cpu_user_ns")
    fresh = faults * PAGE_BYTES * subject.mean_step_ns / 1e9
    if (
        faults < LEAST_FAULTS_PER_S
        or fresh < LEAST_BYTES_PER_STEP
        or set(TUNABLES) <= set(subject.environment)
    ):
        return
    claim = page_work(subject)
    seen = bool(subject.host_with(layer="^kernel$").any())
    share = subject.share(claim) if seen else exact(system, system + user)
    if share.low < LEAST_SHARE:
        return
    # Where samples lack the kernel's part of their stack, those that move memory say at which line.
    moving = claim if seen else np.isin(subject.host_kinds, [CODES[k] for k in MOVING])
    who = subject.caused
    most = (
        who.all[int(np.bincount(who.place[moving], subject.host.weight[moving]).argmax())]
        if moving.any()
        else NOBODY
    )
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{fresh / 1e6:.0f} MB of fresh memory per step: {share.middle:.0%} of it goes to "
            "the kernel's page faults",
            why="Large buffers go back to the system when freed; the next step faults every page in again.",
            evidence=(
                Evidence(f"{faults:,.0f} page faults per second", "frame", "page_fault"),
                Evidence(f"{system / max(system + user, 1.0):.0%} of all CPU time is system time"),
                *subject.lines(moving, 1),
            ),
            saving=subject.saving(share, 0.4, 1.5),
            confidence="high",
            fix="export " + " ".join(f"{k}={v}" for k, v in TUNABLES.items()) + "\n"
            "# or LD_PRELOAD=libtcmalloc.so; or a buffer that stays: torch.add(a, b, out=kept)",
            experiment=Experiment(
                "environment", environment=TUNABLES, note="resident memory stays at its peak"
            ),
            work="allocation",
            file=most.file,
            line=most.line,
        ),
        claim if seen else None,
    )


RULE = Rule("page_faults", 31, "counters of faults, samples", judge, scope="cpu", breadth=1, way="once")
