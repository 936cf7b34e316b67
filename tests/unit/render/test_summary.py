"""The last line of the summary says what is missing and why, not only how much."""

from __future__ import annotations

import io

import pytest

from sonde.analyze.steps.program import StepReport
from sonde.columns import Table, Text
from sonde.insights.judged_steps import JudgedSteps
from sonde.render.text.page import Page
from sonde.render.text.summary import _lost, show_summary
from sonde.store import build
from tests.fixtures.synthetic import training_run


def losses(*rows: tuple[str, int, str]) -> tuple[dict[str, int], Table]:
    causes, counts, details = ([row[i] for row in rows] for i in range(3))
    total: dict[str, int] = {}
    for cause, number, _ in rows:
        total[cause] = total.get(cause, 0) + number
    return total, build.table("losses", cause=Text.of(causes), count=counts, detail=Text.of(details))


def test_a_single_cause_comes_with_its_reason() -> None:
    found = _lost(*losses(("shapes_unavailable", 1, "'ls' is not linked to libtorch_cpu.so")))
    assert found == "lost: 1 shapes_unavailable: 'ls' is not linked to libtorch_cpu.so"


def test_one_cause_in_two_processes_with_two_reasons_keeps_its_name() -> None:
    assert _lost(*losses(("window_failed", 1, "a"), ("window_failed", 2, "b"))) == "lost: 3 window_failed"


def test_many_causes_are_named_most_first() -> None:
    found = _lost(*losses(("a", 1, ""), ("b", 5, "x"), ("c", 3, ""), ("d", 2, "")))
    assert found == "lost: 5 b, 3 c, 2 d, …"


def test_a_counted_nothing_is_nothing() -> None:
    assert _lost(*losses(("a", 0, "x"))) == "nothing lost"


def test_steps_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of `sonde run` is waited for: what several parts of the summary need is computed once."""
    found = JudgedSteps.reports.func
    asked = []

    def reports(steps: JudgedSteps) -> list[StepReport]:
        asked.append(steps)
        return found(steps)

    monkeypatch.setattr(JudgedSteps.reports, "func", reports)
    show_summary(training_run(), Page(io.StringIO()), "train.sonde")
    assert len(asked) == 1
