"""Work that is done again: by a module inside a model, by a line of a program that does not train, by building anew."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.insights.engine import judge
from sonde.insights.rules.host import costly_line, same_input, same_result
from sonde.insights.ways import Signs, way_of
from sonde.store import build
from tests.unit.insights.made_loop import BACKWARD, FILE, GEMM, LOOP, MODEL, UPDATE, Spent, line, loop, op
from tests.unit.insights.pairs.windows import MASK, told

ENCODER = Spent(12, 20, (("module", "encoder", {}), op("aten::addmm"), GEMM), "forward")
SEEN: dict[str, Any] = {"module": "encoder", "class": "Stack", "calls": 10, "again": 9, "within": False}


@pytest.mark.parametrize(
    ("facts", "speaks"),
    [
        (SEEN, True),
        ({**SEEN, "again": 0}, False),
        ({**SEEN, "module": "decoder"}, False),  # no sample is in it
        ({"visits": [2, 2]}, False),
    ],
)
def test_a_module_that_computes_the_same_again_is_named_with_its_line(
    facts: dict[str, Any], speaks: bool
) -> None:
    report = judge(loop(MODEL, ENCODER, more=told("values", 20, **facts)), (same_input.RULE,))
    assert report.failed == {}
    assert bool(report.insights) == speaks
    if speaks:
        (card,) = report.insights
        assert (card.line, card.way, card.confidence) == (20, "once", "high")
        assert "encoder (Stack)" in card.title
        assert "9 of 10 calls" in card.evidence[0].text


def test_few_equal_calls_make_a_wide_saving_of_less_confidence() -> None:
    def card(again: int) -> Any:
        facts = told("values", 20, **{**SEEN, "calls": again + 1, "again": again})
        return judge(loop(MODEL, ENCODER, more=facts), (same_input.RULE,)).insights[0]

    one, many = card(1), card(20)
    assert (one.confidence, many.confidence) == ("medium", "high")
    assert one.saving.low_ms < many.saving.low_ms
    assert one.saving.high_ms == pytest.approx(many.saving.high_ms)


def test_parametrizations_that_run_at_every_time_step_are_cached_by_torch() -> None:
    path = "cell.turn.parametrizations.weight"
    spent = Spent(
        12, 20, (line(5, "forward"), ("module", path, {}), op("aten::_weight_norm"), LOOP), "forward"
    )
    facts = told("values", 20, **{**SEEN, "module": path, "class": "ParametrizationList", "within": True})
    (card,) = judge(loop(MODEL, spent, BACKWARD, UPDATE, more=facts), (same_input.RULE,)).insights
    assert "parametrize.cached()" in card.fix
    assert card.saving is not None
    # Its backward pass is done again as well: at most.
    assert card.saving.high_ms > 12


@pytest.mark.parametrize(("inputs", "speaks"), [(3, True), (1, False), (0, False)])
def test_a_line_without_training_counts_only_where_the_inputs_of_the_model_change(
    inputs: int, speaks: bool
) -> None:
    facts = [told("values", 5, seen=3, distinct=1, large=True)]
    if inputs:
        facts.append(told("values", 20, inputs=inputs))
    report = judge(loop(MODEL, MASK, more=build.concat("marks", facts)), (same_result.RULE,))
    assert [i.line for i in report.insights] == ([5] if speaks else [])


def test_a_line_whose_results_are_as_many_as_the_inputs_follows_them() -> None:
    facts = [told("values", 5, seen=6, distinct=3, large=True), told("values", 20, inputs=3)]
    assert judge(loop(MODEL, MASK, more=build.concat("marks", facts)), (same_result.RULE,)).insights == ()


@pytest.mark.parametrize(
    ("frame", "way"),
    [
        (
            ("python", "Linear.reset_parameters", {"file": "/x/site-packages/torch/nn/modules/linear.py"}),
            "once",
        ),
        (("python", "normal_", {"file": "/x/site-packages/torch/nn/init.py"}), "once"),
        (("python", "Linear.forward", {"file": "/x/site-packages/torch/nn/modules/linear.py"}), "elsewhere"),
    ],
)
def test_a_model_that_is_built_in_every_step_can_be_built_once(frame: Any, way: str) -> None:
    spent = Spent(10, 18, (line(5, "build"), frame, op("aten::uniform_"), LOOP))
    (card, *_) = judge(loop(spent, MODEL, BACKWARD, UPDATE), (costly_line.RULE,)).insights
    assert (card.line, card.way) == (5, way)
    assert card.file == FILE


def test_a_way_that_no_sign_speaks_for_says_so() -> None:
    guess = way_of(Signs("arithmetic", "before"))
    assert (guess.name, guess.guess) == ("once", True)
    assert "not known" in guess.why
    assert not way_of(Signs("arithmetic", "before", again=True)).guess
    assert "nothing" not in way_of(Signs("arithmetic", "forward", cut=True)).why.lower()
    spent = Spent(10, 18, (line(5, "prepare"), op("aten::mm"), GEMM))
    (card, *_) = judge(loop(spent, MODEL, BACKWARD, UPDATE), (costly_line.RULE,)).insights
    assert (card.way, card.confidence) == ("once", "low")


@pytest.mark.parametrize("kind", ["dispatch", "python", "autograd", "random"])
def test_overhead_in_the_model_without_a_sign_is_a_guess_and_a_loop_is_none(kind: str) -> None:
    assert way_of(Signs(kind, "forward")).guess
    assert not way_of(Signs(kind, "forward", visits=100, turn_ns=1000)).guess
