"""Predictions against outcomes: what counts as held, and that a cut line harms nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.errors import InputError
from sonde.experiment.proving import ledger
from sonde.experiment.proving.ledger import Outcome, calibration


def outcome(
    predicted: tuple[float, float] | None, measured: tuple[float, float] | None, verdict: str
) -> Outcome:
    low, high = predicted or (None, None)
    m_low, m_high = measured or (None, None)
    return Outcome("2026-11-16", "rule", "p.py", low, high, 0.1, m_low, m_high, verdict, 10, True)


@pytest.mark.parametrize(
    ("predicted", "measured", "verdict", "judged"),
    [
        ((0.1, 0.2), (0.15, 0.25), "faster", "held"),
        ((0.1, 0.2), (0.01, 0.05), "faster", "missed_low"),
        ((0.1, 0.2), (0.3, 0.4), "faster", "missed_high"),
        ((0.1, 0.2), (-0.1, 0.3), "inconclusive", "open"),
        ((0.1, 0.2), None, "inconclusive", "open"),
        (None, (0.1, 0.2), "faster", "no_figure"),
        ((0.1, 0.2), (-0.2, -0.1), "slower", "missed_low"),
    ],
)
def test_what_becomes_of_a_prediction(
    predicted: tuple[float, float] | None, measured: tuple[float, float] | None, verdict: str, judged: str
) -> None:
    assert outcome(predicted, measured, verdict).judged == judged


def test_ledger_is_kept_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ledger.jsonl"
    assert ledger.read(path) == []
    ledger.add(outcome((0.1, 0.2), (0.15, 0.25), "faster"), path)
    ledger.add(outcome((0.1, 0.2), (0.0, 0.05), "same"), path)
    with path.open("a") as stream:
        stream.write('{"when": "20')  # killed while writing
    found = ledger.read(path)
    rows = {row.rule: row for row in calibration(found)}
    assert (rows["rule"].proofs, rows["rule"].held, rows["rule"].promised_too_much) == (2, 1, 1)
    assert rows["all"].share == 0.5
    assert calibration([])[0].share is None
    path.write_text("nonsense\n" + path.read_text())
    with pytest.raises(InputError, match=r"ledger.jsonl:1"):
        ledger.read(path)


def test_a_change_that_alters_the_results_does_not_count_as_held() -> None:
    held = outcome((0.1, 0.2), (0.15, 0.25), "faster")
    assert held.judged == "held"
    assert replace(held, same_result=False).judged == "open"
