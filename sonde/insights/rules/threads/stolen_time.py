"""Rule 35, stolen time: the hypervisor gave CPU time of this virtual machine to others (reported as noise).

Condition: more than 2 % of the CPUs' time during the run was stolen (steal in /proc/stat).
Saving: none that a change of the program could bring: it is noise, and every figure of this recording holds it.
Not for: machines of one's own, runs under 5 s (the account ticks a hundred times a second).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

MOST_STOLEN = 0.02  # catalogue, rule 35
SHORTEST_S = 5.0


def judge(subject: Subject) -> Iterator[Finding]:
    seen = subject.need_settings().get("scheduling")
    stolen = seen.get("stolen_share") if isinstance(seen, dict) else None
    if not isinstance(seen, dict) or not isinstance(stolen, (int, float)):
        raise NotEnough("stolen time was not recorded: record with sonde run")
    if float(seen.get("seconds", 0.0)) < SHORTEST_S or stolen <= MOST_STOLEN:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{stolen:.0%} of the CPUs' time went to other virtual machines",
            why="The hypervisor has more busy virtual CPUs than real ones, so your program got less CPU time.",
            evidence=(Evidence(f"steal in /proc/stat: {stolen:.1%} over {float(seen['seconds']):.0f} s"),),
            saving=None,
            confidence="low",
            fix="# nothing in the program: measure again at another time, or on a machine of its own\n"
            "# compare versions in pairs: sonde prove --before CMD --after CMD",
            experiment=Experiment("patch", note="noise, not a cause: a repetition shows how large it is"),
        )
    )


RULE = Rule(
    "stolen_time",
    35,
    "the system's account of CPU time",
    judge,
    scope="cpu",
    breadth=2,
    way="with fewer or more hands",
)
