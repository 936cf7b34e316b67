"""Rule 56, late rank: the same rank keeps the others waiting in collectives, and what it does meanwhile is the cause.

Condition: `sonde.analyze.ranks.lateness` names a rank: of the steps in which someone is late it has two thirds, more
    than chance gives, and 5 % of all steps' time.
Saving: the step without its lateness, by replaying the collectives; 70 to 105 % of it, since the others get slower.
Not for: traces of devices (rule 52); ranks of several hosts whose clocks are not aligned.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.analyze.ranks.job import Job, LateRank
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FIXES = {
    "sleep": "# take the sleep out of the step, or let another thread sleep",
    "loading": "# more or faster data-loading workers on that rank: DataLoader(..., num_workers=4, prefetch_factor=4)",
    "io": "# write from another thread or less often, or let every rank write its share",
    "gc": "# gc.disable() before the loop, gc.collect() every some hundred steps on all ranks at once",
    "taken": "# give that rank CPUs of its own: taskset -c / torchrun --numa-binding, or a larger CPU quota",
    "quota": "# a larger CPU quota for that rank: cpu.max of its control group, resources.limits.cpu of its pod",
}


def judge(subject: Subject) -> Iterator[Finding]:
    job = Job(subject.table)
    if len(job.ranks) < 2:
        raise NotEnough("one rank only: run the job with sonde run torchrun …, or merge its recordings")
    late = job.late
    if late is None:
        return
    place = late.cause.place
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Rank {late.rank} keeps the others waiting: {late.cause.sentence}",
            why="A collective ends when its last rank has come, so the slowest rank sets the pace of all.",
            evidence=tuple(_evidence(late)),
            saving=_saving(late),
            confidence="high" if late.cause.kind else "medium",
            fix=FIXES.get(
                late.cause.kind,
                "# that rank does more, or more slowly: balance its work, or do it on all ranks",
            ),
            experiment=Experiment("patch"),
            resource="communication",
            work=late.cause.words if late.cause.kind else "",
            file=place.file,
            line=place.line,
        )
    )


def _evidence(late: LateRank) -> Iterator[Evidence]:
    place = late.cause.place
    yield Evidence(late.sentence)
    yield Evidence(
        f"it came last to {late.last_in} of the {late.of_calls} collectives of those steps",
    )
    if late.cause.kind:
        inside = " and in them" if late.cause.kind in ("taken", "quota") else ""
        yield Evidence(
            f"on its way to them{inside} it spent {late.cause.mine_ns / 1e6:.1f} ms a step in {late.cause.words}, "
            f"the others {late.cause.others_ns / 1e6:.1f} ms",
            "line" if place.line > 0 else "fact",
            place.function,
            place.file,
            place.line,
        )


def _saving(late: LateRank) -> Saving | None:
    if late.without_ns is None:
        return None
    won = (late.step_ns - late.without_ns) / 1e6
    whole = late.step_ns / 1e6
    return Saving(0.7 * won, min(1.05 * won, whole), whole)


RULE = Rule(
    "late_rank", 56, "collectives of several ranks", judge, scope="cpu", breadth=-1, way="waiting for someone"
)
