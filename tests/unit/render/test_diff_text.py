"""What `sonde diff` prints: a verdict that needs no footnote, or how to get one."""

from __future__ import annotations

import io
from typing import Any

import pytest

from sonde.render.text import diff
from sonde.render.text.page import Page
from tests.fixtures.comparison import comparison_of
from tests.fixtures.synthetic import training_run


def told(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "verdict": "inconclusive", "reason": "only differences above 24% would have been seen", "ratio": 1.02,
        "low": 0.87, "high": 1.19, "a_ms": 55.0, "b_ms": 56.1, "unit": "step", "measure": "wall",
        "preempted": {"a": 0.0, "b": 0.0}, "scatter": {"deviation": 0.05, "runs": 0}, "page_faults": None,
        "calls": None, "stepless": "", "traces": False, "repetitions": {"kind": "one run each", "a": 1, "b": 1},
        "command": "sonde prove --before a --after b", "changed": [], "unlike": [], "rows": [],
    }  # fmt: skip
    return {**base, **changes}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"verdict": "faster", "ratio": 1 / 1.64, "low": 1 / 2.03, "high": 1 / 1.33},
            "B is 1.64× faster (1.33–2.03×): ",
        ),
        ({"verdict": "slower", "ratio": 1.3, "low": 1.11, "high": 1.52}, "B is 1.30× slower (1.11–1.52×): "),
        ({"verdict": "same", "low": 0.99, "high": 1.012}, "B is as fast as A (0.990–1.012×): "),
        ({}, "Cannot tell from one run each: "),
        ({"repetitions": {"kind": "recordings", "a": 3, "b": 3}}, "Cannot tell from these recordings: "),
    ],
)
def test_the_headline_is_the_verdict_with_its_interval(changes: dict[str, Any], wanted: str) -> None:
    assert diff.headline(told(**changes)).startswith(wanted)


def test_without_a_verdict_the_command_that_would_tell_is_named() -> None:
    assert "To find out: sonde prove --before a --after b" in diff.notes(told())
    slower = diff.notes(told(verdict="slower"))
    assert not any("To find out" in line for line in slower)
    assert "Intervals cover the differences between runs of one program: 5.0% (from a prior of 5%)." in slower


def test_a_busy_machine_and_page_faults_are_named() -> None:
    lines = diff.notes(
        told(measure="own", preempted={"a": 0.64, "b": 0.52}, page_faults={"a": 2500.0, "b": 100.0})
    )
    assert any("off the CPU 64% (A) and 52% (B)" in line for line in lines)
    assert any("Page faults per step: 2,500 → 100." in line for line in lines)


def test_equal_recordings_have_no_significant_row() -> None:
    found = comparison_of(training_run(), training_run(seed=8))
    out = io.StringIO()
    diff.show(found, Page(out))
    assert "No significant differences (FDR 5 %)" in out.getvalue()
    assert out.getvalue().startswith("Cannot tell from one run each")


def test_the_page_and_json_have_the_texts_that_are_printed() -> None:
    found = comparison_of(training_run(), training_run(seed=8, slow=10.0))
    assert found["headline"] == diff.headline(found)
    assert found["notes"] == diff.notes(found)
    listed = {(t["dimension"], t["source"]) for t in found["tables"]}
    assert listed == {(r["dimension"], r["source"]) for r in found["rows"]}
    assert found["steady"]["a"] == [[3, 5], [10, 21]], "the steps outside windows, after warm-up"
