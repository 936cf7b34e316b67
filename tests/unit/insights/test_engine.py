"""The engine on a synthetic run: order, claims counted once, defects reported and not raised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.engine import judge
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from tests.fixtures.synthetic import training_run


def _finding(rule: str, subject: Subject, share: float, claim: bool = True) -> Finding:
    count = len(subject.host)
    mask = np.arange(count) < share * count if claim else None
    ms = subject.step_ms * share
    saving = Saving(ms, ms, subject.step_ms)
    insight = Insight(rule, rule, "", (Evidence("x"),), saving, "high", "", Experiment("patch"))
    return Finding(insight, mask)


def _rule(name: str, share: float, breadth: int = 1, claim: bool = True) -> Rule:
    def run(subject: Subject) -> Iterator[Finding]:
        yield _finding(name, subject, share, claim)

    return Rule(name, 0, "", run, breadth=breadth)


def test_larger_savings_come_first() -> None:
    report = judge(training_run(), [_rule("small", 0.1, claim=False), _rule("large", 0.4, claim=False)])
    assert [i.rule for i in report.insights] == ["large", "small"]
    assert report.step_ms is not None
    assert report.remaining_ms is not None
    assert abs(report.remaining_ms / report.step_ms - 0.9 * 0.6) < 1e-6


def test_time_is_claimed_once_and_the_narrower_rule_keeps_it() -> None:
    report = judge(training_run(), [_rule("broad", 0.4, breadth=2), _rule("narrow", 0.3, breadth=0)])
    assert [i.rule for i in report.insights] == [
        "narrow"
    ]  # three quarters of the broad claim are the narrow one's


def test_a_partly_covered_claim_keeps_the_rest() -> None:
    report = judge(training_run(), [_rule("broad", 0.4, breadth=2), _rule("narrow", 0.1, breadth=0)])
    assert [i.rule for i in report.insights] == ["broad", "narrow"]
    assert report.step_ms is not None
    assert report.remaining_ms is not None
    assert abs(report.remaining_ms / report.step_ms - 0.6) < 0.02


def test_a_rule_that_raises_is_reported_and_the_others_speak() -> None:
    def broken(subject: Subject) -> Iterator[Finding]:
        raise ZeroDivisionError("oops")
        yield

    def blind(subject: Subject) -> Iterator[Finding]:
        raise NotEnough("record more")
        yield

    rules = [Rule("broken", 0, "", broken), Rule("blind", 0, "", blind), _rule("fine", 0.2)]
    report = judge(training_run(), rules)
    assert report.failed == {"broken": "ZeroDivisionError: oops"}
    assert report.not_judged == {"blind": "record more"}
    assert [i.rule for i in report.insights] == ["fine"]
