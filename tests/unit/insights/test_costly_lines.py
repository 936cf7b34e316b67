"""Cards that come from the account alone: line, kind, way and saving, and silence where the step does its work."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.insights.engine import judge
from sonde.insights.model import Insight
from sonde.insights.rules.host import costly_kind, costly_line
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import (
    BACKWARD,
    GEMM,
    LOOP,
    MODEL,
    MODULE_PY,
    UPDATE,
    Frame,
    Spent,
    line,
    loop,
    op,
)

RULES = (costly_line.RULE, costly_kind.RULE)
INTERPRETER = ("native", "_PyEval_EvalFrameDefault", {"library": "python3.11"})


def first(recording: Recording) -> Insight:
    report = judge(recording, RULES)
    assert report.failed == {}
    assert report.insights, report
    return report.insights[0]


def test_a_step_that_only_computes_has_no_card_and_nothing_to_change() -> None:
    report = judge(loop(MODEL, BACKWARD, UPDATE), RULES)
    assert report.insights == ()
    assert report.headroom is not None
    assert report.headroom.share < 0.05


@pytest.mark.parametrize(
    ("spent", "work", "way", "at"),
    [
        (Spent(8, 24, (line(5), op("aten::clone"), LOOP)), "copies", "less often", 5),
        (Spent(8, 24, (line(5), INTERPRETER)), "python", "less often", 5),
        (Spent(8, 12, (line(5), INTERPRETER)), "python", "elsewhere", 5),
        (Spent(8, 12, (line(5), op("aten::mm"), GEMM)), "arithmetic", "once", 5),
        (Spent(8, 24, (line(5), INTERPRETER), grows=True), "python", "incrementally", 5),
        (Spent(8, 24, (), state="waiting", reason="sleep"), "sleep", "not at all", 24),
        (
            Spent(8, 20, (line(3, "f", MODULE_PY), line(7, "hook"), op("aten::std"), LOOP), "forward"),
            "memory",
            "less often",
            7,
        ),
        (
            Spent(8, 20, (line(9, "forward"), op("aten::bernoulli_"), LOOP), "forward"),
            "random",
            "in another format",
            9,
        ),
        (
            Spent(8, 20, (line(9, "forward"), op("aten::index"), LOOP), "forward"),
            "gather",
            "in another format",
            9,
        ),
    ],
)
def test_a_line_that_costs_a_third_has_a_card_with_kind_and_way(
    spent: Spent, work: str, way: str, at: int
) -> None:
    order = sorted((MODEL, BACKWARD, UPDATE, spent), key=lambda s: s.line)
    card = first(loop(*order))
    assert (card.rule, card.work, card.way, card.line) == ("costly_line", work, way, at)
    assert card.saving is not None
    assert 0 < card.saving.low_share < 8 / 25 < card.saving.high_ms / card.saving.of_ms


def test_memory_traffic_of_the_model_itself_is_no_card() -> None:
    relu = Spent(4, 20, (line(9, "forward"), op("aten::relu"), LOOP), "forward")
    assert judge(loop(MODEL, relu, BACKWARD, UPDATE), (costly_line.RULE,)).insights == ()


def test_a_program_without_steps_is_judged_as_a_run() -> None:
    recording = loop(Spent(8, 24, (line(5), INTERPRETER)), MODEL, marks=False)
    card = first(recording)
    assert card.line == 5
    assert "of the run" in card.title
    assert judge(recording, RULES).unit == "run"


def test_overhead_that_is_spread_over_many_lines_has_a_card_of_its_own() -> None:
    call = ("native", "at::_ops::add_Tensor::call", {"library": "libtorch_cpu.so"})
    spread = [Spent(1, 20, (line(n, "forward"), op("aten::add"), call), "forward") for n in range(30, 45)]
    card = first(loop(MODEL, *spread, BACKWARD))
    assert (card.rule, card.way) == ("costly_kind", "in bulk")
    assert card.saving is not None
    assert card.saving.low_ms == 0


def test_fresh_pages_are_no_overhead_of_calls() -> None:
    """They grow with the tensors: a larger batch would have more of them."""
    fault: tuple[Frame, ...] = (LOOP, ("kernel", "exc_page_fault", {}))
    spread = [Spent(1, 20, (line(n, "forward"), op("aten::add"), *fault), "forward") for n in range(30, 45)]
    assert judge(loop(MODEL, *spread, BACKWARD), (costly_kind.RULE,)).insights == ()


def test_pages_that_go_back_stand_for_no_kind_where_there_is_work() -> None:
    back: Frame = ("kernel", "vms_complete_munmap_vmas", {})
    given = Spent(6, 24, (line(5), ("native", "__munmap", {"library": "libc.so.6"}), back))
    work = Spent(4, 24, (line(5), op("aten::clone"), LOOP))
    assert first(loop(MODEL, BACKWARD, UPDATE, given, work)).work == "copies"


def test_steps_without_marks_have_the_parts_of_those_with_marks() -> None:
    """Phases of short steps are marked now and then; the model of the others is no work beside the model."""
    found = loop(MODEL, BACKWARD, UPDATE, Spent(3, 24, (line(5), INTERPRETER)), steps=80)
    marks = found.table("marks")
    phases = np.flatnonzero(marks.text("kind").equals("phase"))
    kept = np.setdiff1d(np.arange(len(marks)), phases[len(phases) // 4 :])
    tables = {t.name: t for t in found.tables()} | {"marks": marks.take(kept)}
    cards = judge(Recording(found.meta, tables), RULES).insights
    assert [(c.line, c.way) for c in cards] == [(5, "less often")]


def test_waiting_for_threads_may_be_won_or_lost() -> None:
    card = first(loop(MODEL, BACKWARD._replace(state="imbalance"), UPDATE))
    assert (card.rule, card.work, card.way) == ("costly_kind", "barriers", "with fewer or more hands")
    assert card.saving is not None
    assert card.saving.low_ms < 0 < card.saving.high_ms
