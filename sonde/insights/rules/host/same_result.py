"""Same result: a line makes, in every step, exactly what it made before.

Condition: windows saw that the values a line of the user's makes were the same in all steps that they saw, or came
    again (`line_facts`), and the samples below that line are at least 5 % of the step.
Saving: nearly all of that time, when the result is made once and kept; half of it where it only comes again, because
    it must be kept somewhere.
Not for: programs that do not train, unless their model was seen to get more different inputs than the line made
    results: inputs may be the same because someone measures them; lines that hold nearly the whole step; waits; lines
    that only allocate, whose fresh memory looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.line_facts import LineFacts
from sonde.insights.line_signs import comes_again
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.roles import roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE, MOST_SHARE = 0.05, 0.95
MOST_CARDS = 2
ONLY = 0.8  # of its time: a line that only allocates
OTHERS = ("gc", "debugging", "compiling", "loading", "io")  # have a cause of their own
WON_SAME, WON_AGAIN, WON_HIGH = 0.8, 0.4, 1.0


def judge(subject: Subject) -> Iterator[Finding]:
    host, index = subject.host, subject.stacks
    known = {at: facts for at, facts in subject.line_facts.items() if comes_again(subject, facts)}
    if not known or not len(index):
        return
    owner = np.append(_owners(subject, known), -1)[host.stack]
    owner[host.waiting | np.isin(subject.host_kinds, [CODES[k] for k in OTHERS])] = -1
    beside = roles(subject).of("after", "hook")
    found = []
    for number, (at, facts) in enumerate(known.items()):
        claim: Mask = owner == number
        if not facts.large:
            claim &= ~beside  # a score that stays the same is measured all the same
        if not claim.any():
            continue
        share = subject.share(claim)
        if share.low >= LEAST_SHARE and share.middle <= MOST_SHARE and not _only_allocates(subject, claim):
            found.append((share.middle, at, facts, claim))
    for _, at, facts, claim in sorted(found, key=lambda one: -one[0])[:MOST_CARDS]:
        yield _card(subject, at, facts, claim)


def _only_allocates(subject: Subject, claim: Mask) -> bool:
    kind, weight = subject.host_kinds[claim], subject.host.weight[claim]
    return float(weight[kind == CODES["allocation"]].sum()) >= ONLY * float(weight.sum())


def _owners(subject: Subject, known: dict[tuple[str, int], LineFacts]) -> Array:
    """For each stack the number of its outermost line with the same values, -1 for none."""
    index = subject.stacks
    frames = index.frames
    number = {at: n for n, at in enumerate(known)}
    pairs = zip(frames.text("file").tolist(), frames.array("line").tolist(), strict=True)
    of_frame = np.array([number.get((file or "", int(line)), -1) for file, line in pairs], np.int64)
    of_frame[~index.users_python] = -1
    own = np.append(of_frame, -1)[index.frame]
    found: Array = own.copy()
    for at in range(len(index)):  # callers come before what they call
        above = int(index.parent[at])
        if above >= 0 and found[above] >= 0:
            found[at] = found[above]
    return found


def _card(subject: Subject, at: tuple[str, int], facts: LineFacts, claim: Mask) -> Finding:
    file, line = at
    place = f"{file.rpartition('/')[2]}:{line}"
    share = subject.share(claim)
    seen = (
        f"the same values in all {facts.seen} steps that windows looked at"
        if facts.same
        else f"{facts.distinct} different results in {facts.seen} steps that windows looked at"
    )
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{place} makes the same result again: {share.middle:.0%} of each step",
            why="What does not change between steps can be made once and kept.",
            evidence=(
                Evidence(f"{place} made {seen}", "line", "", file, line),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(share, WON_SAME if facts.same else WON_AGAIN, WON_HIGH),
            confidence="high" if facts.large else "medium",
            fix=f"# {place}: compute it once before the loop (a buffer, a list by batch), and use it again",
            experiment=Experiment("patch", note="compare the results of both versions"),
            file=file,
            line=line,
        ),
        claim,
    )


RULE = Rule(
    "same_result", 62, "values of lines in windows, samples", judge, scope="cpu", breadth=0, way="once"
)
