"""What every card has beside its rule's words, and the order of cards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.insights import ways
from sonde.insights.cards import PROVE_FIRST
from sonde.insights.engine import judge, rank
from sonde.insights.floors import headroom
from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules import RULES
from sonde.insights.subject import Subject
from sonde.machine.roofs import FORMAT
from sonde.render.text.insights import closing_sentence, headroom_sentence, saving_text
from sonde.store.recording import Recording
from tests.fixtures.synthetic import ROOFS, training_run
from tests.unit.insights.made_loop import BACKWARD, MODEL, UPDATE, Spent, loop


def _insight(low: float, high: float, confidence: str = "high") -> Insight:
    return Insight(
        "x", "", "", (Evidence("x"),), Saving(low, high, 10.0), confidence, "", Experiment("patch")
    )  # type: ignore[arg-type]


def test_every_rule_has_a_way() -> None:
    own = {
        "costly_line",
        "costly_kind",
        "far_from_floor",
        "heaviest_line",
    }  # these find theirs in the recording
    names = {way.name for way in vars(ways).values() if isinstance(way, ways.Way)}
    assert {rule.name for rule in RULES if rule.way} == {rule.name for rule in RULES} - own
    assert {rule.way for rule in RULES if rule.way} <= names


def test_what_is_sure_comes_before_what_may_be_more() -> None:
    sure, likely, risky = _insight(1, 2), _insight(0.1, 9), _insight(-4, 9)
    assert sorted([risky, likely, sure], key=rank, reverse=True) == [sure, likely, risky]


def test_a_fix_that_depends_on_hardware_says_prove_first_and_reaches_below_zero() -> None:
    def run(subject: Subject):  # type: ignore[no-untyped-def]
        yield Finding(_insight(2, 6), np.ones(len(subject.host), np.bool_))

    report = judge(training_run(), [Rule("x", 0, "", run, trial=True)])
    (card,) = report.insights
    assert card.saving is not None
    assert card.saving.low_ms < 0 < card.saving.high_ms
    assert card.evidence[-1].text == PROVE_FIRST
    assert "may be slower here, prove first" in saving_text(card)


def test_the_closing_says_nothing_only_when_the_account_does() -> None:
    busy = judge(loop(MODEL, BACKWARD, UPDATE), ())
    assert "floor of most of this work is not known" in (closing_sentence(busy) or "")
    idle = judge(loop(MODEL, Spent(20, 20, (), "forward")), ())
    assert "No finding, though up to 77% of the time is not useful work" in (closing_sentence(idle) or "")


def test_headroom_says_what_the_step_must_do() -> None:
    report = judge(loop(MODEL, Spent(14, 20, (), "forward")), ())
    assert headroom_sentence(report) == (
        "A steady step takes 20.0 ms; up to 14.0 ms of it could be saved; how much of the other 6.00 ms is needed "
        "is not known."
    )


def test_floors_come_from_the_roofs_where_they_were_measured() -> None:
    run = training_run()
    machine = {**run.meta.machine, "roofs": {**ROOFS, "format": FORMAT}}
    subject = Subject(Recording(replace(run.meta, machine=machine), {t.name: t for t in run.tables()}))
    report = judge(subject.recording, ())
    assert report.account is not None
    found = headroom(subject, report.account)
    arithmetic = [
        (s, f) for s, f in zip(report.account.slices, found.floors, strict=True) if s.kind == "arithmetic"
    ]
    assert arithmetic
    assert all(f.ns is not None and 0 < f.ns <= s.ns for s, f in arithmetic)
