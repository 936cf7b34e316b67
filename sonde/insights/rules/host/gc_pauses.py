"""Rule 14, pauses of Python's garbage collector.

Condition: full collections (generation 2) in steady steps take at least 2 % of their time, or one takes
    over 20 ms and all 0.5 %.
Saving: the sum of the pauses, give or take one; what is collected by hand elsewhere is to be paid still (80 to
    100 %).
Not for: programs whose collections were not observed (no Python bootstrap). Collections under 0.5 ms are
    not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share, exact
from sonde.insights.subject import Subject

LEAST_SHARE = 0.02  # ours: a saving below is not worth a change of habits
PAUSE_SHARE, LONG_PAUSE_NS = 0.005, 20_000_000  # catalogue, rule 14
OLDEST = 2  # full collections; younger ones are short and hard to avoid
WON_LOW = 0.8
FIX = """import gc
gc.collect(); gc.freeze()   # after building the model and the data, before the loop
gc.disable()                # in the loop collect by hand, rarely:
if step % 1000 == 0: gc.collect(1)"""


def judge(subject: Subject) -> Iterator[Finding]:
    if subject.meta.source != "run" or not len(subject.marks("phase")):
        raise NotEnough("garbage collections were not observed: record with sonde run")
    pauses = subject.steady_marks("gc")
    pauses = pauses.take(np.flatnonzero(pauses.array("number") == OLDEST))
    duration = pauses.array("end_ns") - pauses.array("start_ns")
    share = exact(float(duration.sum()), float(subject.steady.total_ns))
    collecting = subject.host_with(r"^gc_collect|^_PyGC_Collect|^deduce_unreachable", layer="^native$")
    if collecting.any():
        # A pause by the clock holds time in which another program had the CPU; samples do not.
        sampled = subject.share(collecting)
        # And of n pauses one may lie just outside the steps that were looked at.
        edge = 1 + 1 / max(len(pauses), 1)
        share = Share(
            min(share.middle, sampled.high),
            min(share.low, sampled.high),
            min(share.high * edge, 1.0),
            sampled.looks,
        )
    longest = int(duration.max(initial=0))
    if share.middle < LEAST_SHARE and not (share.middle >= PAUSE_SHARE and longest > LONG_PAUSE_NS):
        return
    asked = subject.host_with(r"^gc_collect(_impl)?$", layer="^native$")
    called = subject.share(asked).middle > 0.3 * max(subject.share(collecting).middle, 1e-9)
    lines = subject.lines(asked, 1) if called else []
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Garbage collection takes {share.middle:.1%} of the steps",
            why="Python's collector walks all live objects; with many of them each walk stops the program.",
            evidence=(
                Evidence(
                    f"{len(pauses)} full collections in {subject.steady_steps} steady steps; "
                    f"the longest took {longest / 1e6:.1f} ms",
                    "mark",
                    "gc",
                ),
                *lines,
            ),
            saving=subject.saving(share, WON_LOW),
            confidence="high",
            fix=("# remove the call of gc.collect() from the step\n" if lines else "") + FIX,
            experiment=Experiment(
                "flag",
                code="import gc; gc.collect(); gc.freeze(); gc.disable(); gc.collect = lambda *a: 0",
                note="watch memory: reference cycles are then freed only when you collect",
            ),
        ),
        collecting if collecting.any() else None,
    )


RULE = Rule("gc_pauses", 14, "marks of garbage collections", judge, scope="cpu", breadth=0, way="less often")
