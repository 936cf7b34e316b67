"""Every rule fires on its cause, and looks and finds nothing where the cause alone is taken away."""

from __future__ import annotations

import pytest

from sonde.insights.engine import judge
from sonde.insights.rule import Rule
from sonde.insights.rules import RULES
from tests.unit.insights.pairs import PAIRS


def test_every_rule_has_a_pair() -> None:
    assert {rule.name for rule in RULES} == set(PAIRS)


@pytest.mark.parametrize("rule", [r for r in RULES if r.name in PAIRS], ids=lambda rule: rule.name)
def test_a_rule_fires_on_its_cause_and_not_without_it(rule: Rule) -> None:
    fires, quiet = PAIRS[rule.name]
    report = judge(fires(), [rule])
    assert report.failed == {}
    assert [i.rule for i in report.insights] == [rule.name] * max(len(report.insights), 1), report.not_judged
    report = judge(quiet(), [rule])
    assert report.failed == {}
    assert report.silent == (rule.name,), (report.not_judged, report.not_applicable, report.insights)
