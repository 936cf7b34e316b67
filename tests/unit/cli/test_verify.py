"""Each card is marked by its experiment: proved, refuted, or open with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sonde.cli.verify import marked, verify
from sonde.insights.model import Evidence, Experiment, Insight


def card(rule: str, kind: str) -> Insight:
    return Insight(rule, rule, "", (Evidence("x"),), None, "low", "", Experiment(kind))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("proved", "proved"),
        ("disproved", "refuted"),
        ("no effect", "refuted"),
        ("results differ", "refuted"),
        ("open", "open"),
    ],
)
def test_the_outcome_of_a_proof_is_the_mark(outcome: str, state: str) -> None:
    assert marked("r", {"outcome": outcome, "measured": 0.1}).state == state


def test_only_what_needs_no_edit_is_run_and_time_is_shared() -> None:
    asked: list[tuple[str, float]] = []

    def prove(recording: Path, rule: str, minutes: float) -> dict[str, Any] | str:
        asked.append((rule, minutes))
        return "the program needs its data" if rule == "b" else {"outcome": "proved", "measured": 0.2}

    marks = verify(Path("x"), [card("a", "environment"), card("e", "patch"), card("b", "flag")], 10, prove)
    assert [(m.rule, m.state) for m in marks] == [("a", "proved"), ("e", "open"), ("b", "open")]
    assert marks[2].reason == "the program needs its data"
    assert [rule for rule, _ in asked] == ["a", "b"]
    assert asked[0][1] == pytest.approx(5, rel=0.01)


def test_without_time_everything_stays_open() -> None:
    (mark,) = verify(Path("x"), [card("a", "environment")], 0.01, lambda *_: "never asked")
    assert (mark.state, mark.reason) == ("open", "no time was left for it")
