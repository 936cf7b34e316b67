"""Rules that rest on what windows learnt of lines: each where it speaks, and where it must not."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.insights.engine import judge
from sonde.insights.line_facts import line_facts, outer_loop
from sonde.insights.rules.host import costly_line, same_input, same_result
from sonde.insights.rules.input import padding
from sonde.insights.rules.threads import neighbours
from sonde.insights.source_facts import source_facts
from sonde.insights.ways import Signs, way_of
from sonde.render.text.insights import saving_text
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, FILE, GEMM, LOOP, MODEL, MS, UPDATE, Spent, line, loop, op
from tests.unit.insights.pairs.windows import MASK, told
from tests.unit.insights.planted import settings

INTERPRETER = ("native", "_PyEval_EvalFrameDefault", {"library": "python3.11"})


def said(recording: Recording, *rules: Any) -> list[tuple[str, str, str, int]]:
    report = judge(recording, rules)
    assert report.failed == {}
    return [(i.rule, i.way, i.work, i.line) for i in report.insights]


@pytest.mark.parametrize(
    ("facts", "speaks"),
    [
        ({"seen": 3, "distinct": 1, "large": True}, True),
        ({"seen": 6, "distinct": 4, "large": True}, True),  # comes again: an epoch of four batches
        ({"seen": 3, "distinct": 3, "large": True}, False),
        ({"seen": 2, "distinct": 1, "large": False}, False),  # two equal numbers may be chance
        ({"seen": 1, "distinct": 1, "large": True}, False),
        ({"visits": [1, 1]}, False),
    ],
)
def test_a_line_that_makes_the_same_values_again_can_do_so_once(facts: dict[str, Any], speaks: bool) -> None:
    found = said(loop(MODEL, MASK, BACKWARD, UPDATE, more=told("values", 5, **facts)), same_result.RULE)
    assert found == ([("same_result", "once", "copies", 5)] if speaks else [])


def test_a_program_that_does_not_train_may_measure_one_input_again_and_again() -> None:
    same = told("values", 5, seen=3, distinct=1, large=True)
    assert said(loop(MODEL, MASK, more=same), same_result.RULE) == []


def test_of_two_calls_with_one_input_the_one_below_the_update_is_too_many() -> None:
    again = Spent(6, 24, (op("aten::addmm"), GEMM), "forward")
    facts = build.concat("marks", [told("values", 20, twice=3), told("values", 24, twice=3)])
    steps = (MODEL, BACKWARD, UPDATE, again)
    assert said(loop(*steps, more=facts), same_input.RULE) == [("same_input", "once", "arithmetic", 24)]
    assert said(loop(*steps, more=told("values", 24, visits=[1])), same_input.RULE) == []
    # A GAN: its second optimizer trains through a model that the first one has changed.
    assert said(loop(MODEL, BACKWARD, UPDATE, again, BACKWARD, UPDATE, more=facts), same_input.RULE) == []


def test_padding_is_told_with_its_share_and_not_when_there_is_little_of_it() -> None:
    found = judge(loop(MODEL, BACKWARD, UPDATE, more=told("values", 20, padded=0.8)), (padding.RULE,))
    (card,) = found.insights
    assert (card.rule, card.way, card.line) == ("padding", "not at all", 20)
    assert card.saving is not None
    assert 0 < card.saving.low_share < 0.8 * 16 / 17
    little = loop(MODEL, BACKWARD, UPDATE, more=told("values", 20, padded=0.1))
    assert said(little, padding.RULE) == []


def test_strangers_on_the_cpu_are_told_last_and_promise_nothing() -> None:
    taken = Spent(10, 20, (), state="waiting", reason="preempted")
    report = judge(loop(MODEL, taken, BACKWARD, UPDATE), (neighbours.RULE,))
    (card,) = report.insights
    assert (card.rule, card.work, card.way) == ("neighbours", "taken", "with fewer or more hands")
    assert card.saving is not None
    assert card.saving.low_ms == 0
    assert report.remaining_ms == report.step_ms  # their time is not in the length of a step
    assert "ms that a step takes with what was taken away" in saving_text(card)
    assert "taskset -c 0 COMMAND" in card.fix
    assert said(loop(MODEL, BACKWARD, UPDATE), neighbours.RULE) == []


def test_loader_workers_on_the_same_cpus_are_no_other_programs() -> None:
    taken = Spent(8, 21, (), state="waiting", reason="preempted")
    alone = loop(MODEL, taken, BACKWARD, UPDATE, more=settings(loaders=[{"num_workers": 2}]))
    samples = alone.table("samples")
    times = samples.array("time_ns")[samples.text("state").equals("running")].tolist()
    worker = build.table(
        "samples",
        time_ns=times,
        thread=[1] * len(times),
        stack=[-1] * len(times),
        state=["running"] * len(times),
        weight_ns=[MS] * len(times),
    )
    threads = build.table("threads", thread=[1], process=[1], kind=["main"], start_ns=[0], end_ns=[times[-1]])
    tables = {t.name: t for t in alone.tables()} | {
        "samples": build.concat("samples", [samples, worker]),
        "threads": build.concat("threads", [alone.table("threads"), threads]),
    }
    (card,) = judge(Recording(alone.meta, tables), (neighbours.RULE,)).insights
    assert card.title.startswith("The program's own loader workers, or other programs, had the CPU")
    assert "used 50% of all its CPU time" in card.evidence[-1].text
    assert "torch.set_num_threads(1)" in card.fix


def test_a_loop_inside_the_step_is_one_card_apart_from_what_stands_beside_it() -> None:
    count = Spent(8, 24, (line(7, "count"), INTERPRETER))
    beside = Spent(3, 24, (op("aten::argmax"), LOOP))
    facts = told("values", 7, visits=[9000, 9000])
    found = said(loop(MODEL, BACKWARD, UPDATE, count, beside, more=facts), costly_line.RULE)
    assert found[0] == ("costly_line", "in bulk", "python", 7)


def test_lines_that_run_more_often_each_step_go_over_what_came_before() -> None:
    rate = Spent(8, 12, (line(7, "rate"), INTERPRETER))
    facts = told("values", 7, visits=[500, 501, 502])
    found = said(loop(MODEL, BACKWARD, UPDATE, rate, more=facts), costly_line.RULE)
    assert found[0][1] == "incrementally"


@pytest.mark.parametrize(
    ("signs", "way"),
    [
        (Signs("random", "before", permutes=True, cut=True), "less often"),
        (Signs("random", "before", cut=True), "not at all"),
        (Signs("python", "before", text=True, visits=100, turn_ns=1000), "elsewhere"),
        (Signs("python", "before", visits=100, turn_ns=1000), "in bulk"),
        (Signs("memory", "after", visits=12, turn_ns=900_000), "less often"),
        (Signs("copies", "before", converts=True), "in another format"),
        (Signs("python", "before", reads=True), "once"),
        (Signs("locks", "loop"), "waiting for someone"),
        (Signs("arithmetic", "forward", one_hot=True), "in another format"),
    ],
)
def test_the_way_follows_from_the_signs(signs: Signs, way: str) -> None:
    assert way_of(signs).name == way


def test_the_loop_of_a_program_without_steps_bounds_its_run() -> None:
    rows = loop(
        Spent(5, 3, (line(1, "load"), INTERPRETER)), Spent(20, 30, (op("aten::mm"), GEMM)), marks=False
    )
    names = ("samples", "threads", "frames", "stacks")
    marks = told("loop", 30, period_ns=20 * MS, turns=8)
    recording = Recording(rows.meta, {**{n: rows.table(n) for n in names}, "marks": marks})
    found = outer_loop(recording.table("marks"))
    assert found is not None
    assert (found.label, found.period_ns) == ("train.py:30", 20 * MS)
    report = judge(recording, ())
    assert report.unit == "run"
    assert report.account is not None
    assert report.account.whole_ns == pytest.approx((60 * 25 - 5.5) * MS, abs=2 * MS)


def test_marks_that_say_nonsense_are_no_facts() -> None:
    facts = line_facts(told("values", 5, visits="many", seen=True, padded="x"))
    assert facts[FILE, 5].per_step == 0
    assert not facts[FILE, 5].again
    assert outer_loop(told("loop", 5, period_ns="soon")) is None


def test_the_text_tells_what_is_cut_kept_and_called() -> None:
    text = "\n".join(
        [
            "import torch",
            "for step in range(3):",
            "    noise = torch.randn(50, 4)[step]",
            "    first = x.size()[0]",
            "    kept.append(loss)",
            "    fine.append(loss.item())",
            "torch.set_num_threads(16)",
        ]
    )
    sources = build.table(
        "sources", file=[FILE, "/x/broken.py"], text=[text, "def ("], changed=[False, False]
    )
    facts = source_facts(sources)
    assert set(facts) == {FILE}
    assert facts[FILE].cut == {3}
    assert facts[FILE].keeps == {5}
    assert facts[FILE].calls["set_num_threads"] == (7,)
