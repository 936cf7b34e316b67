"""Rule 52, straggler: one rank comes late to collectives again and again, and the others wait for it.

Condition: `sonde.analyze.ranks.stragglers` names a rank (5 % of the window, three robust sigmas or two thirds of
    the calls).
Saving: the waits that it causes, per step, 50 to 100 %.
Not for: one rank; ranks whose clocks could not be aligned.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.devices import device_saving, devices
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
FIXES = {
    "host": "# that rank's host is slow: look for a busy CPU, garbage collection or logging on it",
    "input": "# that rank waits for its data: more workers, or a slower disk than the others'",
    "compute": "# that rank has more or slower work: balance batches by length, check its clock and temperature",
    "copy": "# that rank copies more: check pinned memory and its PCIe link",
}


def judge(subject: Subject) -> Iterator[Finding]:
    if len(subject.gpu.ranks) < 2:
        raise NotEnough("one rank only: give a folder with the traces of all ranks")
    window = max(d.time.window_ns for d in devices(subject))
    for late in subject.gpu.stragglers[:1]:
        share = late.caused_ns / max(window, 1)
        if share < LEAST_SHARE:
            continue
        kind = late.cause.split("-")[0]
        yield Finding(
            Insight(
                rule=RULE.name,
                title=f"Rank {late.rank} is late ({late.cause}) and makes the others wait {share:.0%} of the time",
                why="A collective starts when its last rank arrives.",
                evidence=(
                    Evidence(f"last in {late.last_arrivals} of {late.shared} shared collectives"),
                    Evidence(str(late.evidence)),
                ),
                saving=device_saving(subject, 0.5 * share, share),
                confidence="high",
                fix=FIXES.get(kind, FIXES["host"]),
                experiment=Experiment("patch"),
                resource="communication",
            )
        )


RULE = Rule(
    "straggler", 52, "collectives of several ranks", judge, scope="gpu", breadth=0, way="waiting for someone"
)
