"""What every card says beside its rule's own words: the way, the kind of work and the line, and whether to try first.

Enters: a finding as its rule gave it. Leaves: the same with `way`, `work`, `file` and `line` filled in from what it
claims; a fix whose effect depends on hardware or library may be slower, so its interval reaches below zero; in a
program without steps figures are of the run, and the words say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonde.analyze.account.kinds import CODES, NAMES, main_kind, operator_kind
from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.cold import page_work
from sonde.insights.line_signs import signs_of
from sonde.insights.model import Evidence, Insight, Saving
from sonde.insights.roles import ROLES, roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import way_of

WORSE = 0.5  # of the most that a fix saves: so much slower it may make the step (seen: 49 % on a product-bound loop)
LEAST_WORK = 0.25  # of some time: work at which threads wait for each other
BY_SIGNS = ("python_overhead",)  # rules that say where, and leave open how
PROVE_FIRST = "may be slower here: prove first"


def completed(subject: Subject, rules: Sequence[Rule], finding: Finding) -> Finding:
    """The finding with all that a card shows."""
    insight = finding.insight
    declared = next((rule.way for rule in rules if rule.name == insight.rule), "")
    insight = replace(insight, way=insight.way or declared)
    if any(rule.trial for rule in rules if rule.name == insight.rule) and insight.saving is not None:
        saving = insight.saving
        insight = replace(
            insight,
            saving=Saving(min(-WORSE * saving.high_ms, 0.0), saving.high_ms, saving.of_ms),
            confidence="low",
            evidence=(*insight.evidence, Evidence(PROVE_FIRST)),
        )
    if finding.claim is not None and finding.claim.any():
        insight = _placed(subject, insight, finding)
        if insight.rule in BY_SIGNS:
            part = roles(subject)
            role = ROLES[
                int(np.bincount(part.code[finding.claim], subject.host.weight[finding.claim]).argmax())
            ]
            place = Place(insight.file, insight.line, "")
            way = way_of(signs_of(subject, finding.claim, insight.work, role, place))
            insight = replace(insight, way=way.name)
            if way.name != declared and way.fix and place.line > 0:
                at = f"{place.file.rpartition('/')[2]}:{place.line}"
                insight = replace(insight, why=way.why, fix=way.fix.format(place=at))
    insight = _by_evidence(insight)
    if subject.unit == "run":
        insight = _of_the_run(insight)
    return Finding(insight, finding.claim)


def kind_of(subject: Subject, claim: Mask) -> str:
    """The kind of work that stands for these host samples."""
    kind, weight = subject.host_work[claim], subject.host.weight[claim]
    # Threads that wait for each other at a line do so for its work: that is what a change of the line saves. So are
    # pages that the kernel takes back: they were handed out for a result.
    pages = page_work(subject)[claim] & (kind == CODES["allocation"])
    working = (kind != CODES["barriers"]) & ~pages
    if weight[working].sum() >= LEAST_WORK * weight.sum():
        kind, weight = kind[working], weight[working]
    found = main_kind({NAMES[n]: float(weight[kind == n].sum()) for n in np.unique(kind).tolist()})
    return "allocation" if found in ("copies", "memory") and subject.hides_faults else found


def _placed(subject: Subject, insight: Insight, finding: Finding) -> Insight:
    claim, host = finding.claim, subject.host
    assert claim is not None
    who = subject.caused
    most = who.all[int(np.bincount(who.place[claim], host.weight[claim]).argmax())]
    evidence = insight.evidence
    if not insight.file and bool((claim & who.moved).any()):
        back = subject.lines(claim & who.moved, 1)
        if back and (back[0].file, back[0].line) not in {(e.file, e.line) for e in evidence}:
            told = replace(back[0], text=f"in the backward pass: {back[0].text}")
            evidence = (*evidence[:1], told, *evidence[1:])
    return replace(
        insight,
        evidence=evidence,
        work=insight.work or kind_of(subject, claim),
        file=insight.file or most.file,
        line=insight.line if insight.file else most.line,
    )


def _by_evidence(insight: Insight) -> Insight:
    """What a card without samples of its own says: the line and the operator of its first evidence that has them."""
    shown = next((e for e in insight.evidence if e.file), None)
    operator = next((e.name for e in insight.evidence if e.kind == "op" and e.name), "")
    return replace(
        insight,
        work=insight.work or (operator_kind(operator) if operator else ""),
        file=insight.file or (shown.file if shown else ""),
        line=insight.line if insight.file or not shown else shown.line,
    )


def _of_the_run(insight: Insight) -> Insight:
    def worded(text: str) -> str:
        for step in ("each step", "every step", "a steady step", "the step", "a step"):
            text = text.replace(step, "the run")
        return text

    return replace(
        insight,
        title=worded(insight.title),
        evidence=tuple(replace(e, text=worded(e.text)) for e in insight.evidence),
    )
