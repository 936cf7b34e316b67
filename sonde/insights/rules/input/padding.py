"""Padding: most of what a model gets is padding, and it computes on all of it.

Condition: ids or a mask that a module gets have runs of one value at the same end of the rows, at least 30 % of
    the positions, and the samples below that call and in the backward pass are at least 10 % of the step.
Saving: at least a third of the padded part of the forward pass; at most the padded part of it and of the backward pass.
Not for: masks that are square (causal), and single rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.roles import roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

LEAST_PADDED, LEAST_SHARE = 0.3, 0.10
WON_LOW = 0.33


def judge(subject: Subject) -> Iterator[Finding]:
    padded = {at: facts.padded for at, facts in subject.line_facts.items() if facts.padded >= LEAST_PADDED}
    if not padded:
        return
    part = roles(subject)
    (file, line), most = max(padded.items(), key=lambda one: one[1])
    forward = subject.host_at(padded) & ~part.of("backward", "optimizer")
    share, both = subject.share(forward), subject.share(forward | part.of("backward"))
    if not share or both.low < LEAST_SHARE:
        return
    place = f"{file.rpartition('/')[2]}:{line}"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{most:.0%} of the positions that {place} computes on are padding",
            why="A model computes on padding as on everything else; the results are masked or ignored.",
            evidence=(
                Evidence(
                    f"ids or mask of a module called there: {most:.0%} of the positions are a run of one value",
                    "line", "", file, line,
                ),
                Evidence(f"{share.middle:.1%} of the step in that call, {both.middle:.1%} with the backward pass"),
                *subject.lines(forward, 2),
            ),
            saving=subject.saving(
                Share(share.middle * most, share.low * most, both.high * most, share.looks), WON_LOW
            ),
            confidence="high",
            fix="# pad each batch to its own longest row, and put rows of like length into one batch\n"
            "ids = ids[:, : int(lengths.max())]",
            experiment=Experiment("patch", note="compare the results of both versions"),
            file=file,
            line=line,
        ),
        forward,
    )  # fmt: skip


RULE = Rule(
    "padding",
    64,
    "ids and masks of modules in windows, samples",
    judge,
    scope="cpu",
    breadth=-1,
    way="not at all",
)
