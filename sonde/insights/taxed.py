"""The commonest shape of a finding: host samples in some frames take too much of the step.

Enters: a mask over `subject.host`, a threshold, and the words. Leaves: one finding, or nothing when even the lower
bound of the share does not reach the threshold. The saving is the share with its sampling error times the part
of it that the fix wins back, which each rule names with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.model import Confidence, Evidence, EvidenceKind, Experiment, Insight, Resource
from sonde.insights.rule import Finding
from sonde.insights.subject import Subject


@dataclass(frozen=True)
class Tax:
    """What is said of such a share. `{share}` in `title` and `seen` becomes the share."""

    rule: str
    title: str
    why: str
    seen: str  # first evidence
    kind: EvidenceKind
    name: str  # what the evidence links to
    won: tuple[float, float]  # part of the share that the fix wins back, least and most
    fix: str
    experiment: Experiment
    confidence: Confidence = "high"
    resource: Resource = "host"
    lines: int = 1
    work: str = ""  # kind of work, where the samples' own kinds do not say what it is for


def taxed(
    subject: Subject, claim: Mask, least_share: float, tax: Tax, more: Iterable[Evidence] = ()
) -> Iterator[Finding]:
    """The finding, where the share's lower bound reaches `least_share`."""
    share = subject.share(claim)
    if share.low < least_share:
        return
    yield Finding(
        Insight(
            rule=tax.rule,
            title=tax.title.format(share=f"{share.middle:.0%}"),
            why=tax.why,
            evidence=(
                Evidence(tax.seen.format(share=f"{share.middle:.1%}"), tax.kind, tax.name),
                *more,
                *subject.lines(claim, tax.lines),
            ),
            saving=subject.saving(share, *tax.won),
            confidence=tax.confidence,
            fix=tax.fix,
            experiment=tax.experiment,
            resource=tax.resource,
            work=tax.work,
        ),
        claim,
    )
