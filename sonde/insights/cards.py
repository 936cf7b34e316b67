"""What every card says beside its rule's own words: the way, the kind of work and the line, and whether to try first.

Enters: a finding as its rule gave it. Leaves: the same with `way`, `work`, `file` and `line` filled in from what it
claims; a fix whose effect depends on hardware or library may be slower, so its interval reaches below zero; in a
program without steps figures are of the run, and the words say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonde.analyze.account.kinds import NAMES
from sonde.insights.model import Evidence, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import WAY_OF_RULE

WORSE = 0.5  # of the most that a fix saves: so much slower it may make the step (seen: 49 % on a product-bound loop)
PROVE_FIRST = "may be slower here: prove first"


def completed(subject: Subject, rules: Sequence[Rule], finding: Finding) -> Finding:
    """The finding with all that a card shows."""
    insight = finding.insight
    insight = replace(insight, way=insight.way or WAY_OF_RULE.get(insight.rule, ""))
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
    if subject.unit == "run":
        insight = _of_the_run(insight)
    return Finding(insight, finding.claim)


def _placed(subject: Subject, insight: Insight, finding: Finding) -> Insight:
    claim, host = finding.claim, subject.host
    judged, kind = subject.judged_stacks, subject.host_kinds[claim]
    place = judged.places.of_stack[host.stack][claim]
    weight = host.weight[claim]
    most = judged.places.all[int(np.bincount(place, weight).argmax())]
    return replace(
        insight,
        work=insight.work or NAMES[int(np.bincount(kind, weight).argmax())],
        file=insight.file or most.file,
        line=insight.line if insight.file else most.line,
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
