"""The short answer about insights: file, line, its text and fix in every card, and nothing that nobody acts on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sonde.insights.engine import judge
from sonde.insights.model import Experiment, Insight
from sonde.store import build
from sonde.store.recording import Recording
from sonde.views.brief import MOST_CHARACTERS, Looks, brief
from sonde.views.brief_insights import arranged
from tests.unit.insights.made_loop import FILE, LOOP, MS, Spent, line
from tests.unit.insights.pairs.host import BREAK, compiled, model

TEXT = "\n".join("Conv2d()" if n == 7 else f"line_{n}()" for n in range(1, 60))


def told(recording: Recording, name: str = "train.sonde") -> dict[str, Any]:
    report = judge(recording)
    return brief(arranged(recording, report, [], name), "insights", name, Looks.of(recording))


def with_source(recording: Recording, changed: bool = False) -> Recording:
    sources = build.table(
        "sources", file=[FILE], text=[TEXT], changed=[changed], sha256=["0"], size_bytes=[len(TEXT)]
    )
    return Recording(recording.meta, {**{t.name: t for t in recording.tables()}, "sources": sources})


@pytest.fixture(scope="module")
def slow_line() -> Recording:
    return with_source(model(Spent(20, 30, (line(40), LOOP))))


def test_a_card_has_file_line_its_text_and_a_fix(slow_line: Recording) -> None:
    answer = told(slow_line)
    card = answer["insights"][0]
    assert (card["file"], card["line"], card["code"]) == (FILE, 40, "line_40()")
    assert card["fix"]
    assert all(isinstance(sentence, str) for sentence in card["evidence"])
    assert answer["ask_next"][0].startswith(f"sonde prove train.sonde {card['rule']}")


def test_every_card_is_as_the_rule_gave_it(slow_line: Recording) -> None:
    report = judge(slow_line)
    cards = told(slow_line)["insights"]
    assert [c["title"] for c in cards] == [i.title for i in report.insights]
    assert [c["fix"] for c in cards] == [i.fix for i in report.insights]
    assert [(c.get("file", ""), c.get("line", -1)) for c in cards] == [
        (i.file, i.line) for i in report.insights
    ]


def test_the_costliest_lines_are_told_with_and_without_a_card(slow_line: Recording) -> None:
    lines = told(slow_line)["lines"]
    assert [one["line"] for one in lines][:3] == [40, 21, 20]
    assert lines[0]["share"] == pytest.approx(20 / 37, abs=0.01)
    assert sum(one["share"] for one in lines) <= 1.001


def test_the_text_of_a_file_that_changed_meanwhile_is_not_told() -> None:
    card = told(with_source(model(Spent(20, 30, (line(40), LOOP))), changed=True))["insights"][0]
    assert card["line"] == 40
    assert "code" not in card


def test_rules_that_lack_the_same_stand_together_and_silent_ones_are_counted(slow_line: Recording) -> None:
    answer, report = told(slow_line), judge(slow_line)
    assert len(answer["not_judged"]) == len(set(report.not_judged.values()))
    assert set(answer["not_judged"].values()) == set(report.not_judged.values())
    assert answer["left_out"]["silent"] == len(report.silent)
    assert "silent" not in answer


def test_a_run_that_compiled_names_its_graph_breaks() -> None:
    again = {"recompile_reason": "size mismatch", "file": FILE, "line": 9}
    marks = build.concat(
        "marks",
        [compiled(BREAK, name="graph_break", length_ms=0), compiled(again, again, again, length_ms=400)],
    )
    run = with_source(model(marks=marks))
    began = run.table("samples").array("time_ns").min()
    processes = build.table("processes", process=[0], start_ns=[began], end_ns=[began + 3_000 * MS])
    answer = told(Recording(run.meta, {**{t.name: t for t in run.tables()}, "processes": processes}))
    assert answer["compiled"]["graph_breaks"] == [
        {"file": FILE, "line": 20, "code": "line_20()", "reason": "Tensor.item()", "count": 1}
    ]
    assert answer["compiled"]["recompiled"][0]["times"] == 3
    assert "sonde show train.sonde compile --brief" in answer["ask_next"]
    assert "compiled" not in told(model())


def test_ten_cards_with_long_fixes_still_fit_and_the_first_keeps_its_fix(slow_line: Recording) -> None:
    report = judge(slow_line)
    card = report.insights[0]
    fix = "\n".join(f"x{n} = torch.compile(model)" for n in range(12))
    many = tuple(replace(card, fix=fix, title=f"{n}. {card.title}") for n in range(10))
    found = brief(arranged(slow_line, replace(report, insights=many), [], "t"), "insights", "t", Looks())
    assert len(json.dumps(found, ensure_ascii=False)) <= MOST_CHARACTERS
    assert found["insights"][0]["fix"] == fix
    assert found["left_out"]["insights"] == 10 - len(found["insights"])


def test_a_name_with_a_space_is_quoted_in_commands(slow_line: Recording) -> None:
    assert "'my run.sonde'" in told(slow_line, "my run.sonde")["ask_next"][0]


def test_a_card_without_a_line_says_none() -> None:
    card = Insight("r", "Title", "Why.", (), None, "low", "do", Experiment("flag"))
    recording = model()
    found = arranged(recording, replace(judge(recording), insights=(card,)), [], "t")["insights"][0]
    assert not {"file", "line", "code"} & set(found)


def test_a_fix_that_names_a_call_says_where_the_program_makes_it() -> None:
    recording = with_source(model())
    report = judge(recording)

    def called_at(fix: str) -> list[dict[str, Any]] | None:
        card = Insight("r", "Title", "Why.", (), None, "low", fix, Experiment("flag"))
        found = arranged(recording, replace(report, insights=(card,)), [], "t")["insights"][0]
        places: list[dict[str, Any]] | None = found.get("called_at")
        return places

    assert called_at("nn.Conv2d(..., bias=False)") == [{"file": FILE, "line": 7, "code": "Conv2d()"}]
    assert called_at("nn.Embedding(rows, sparse=True)") is None
    assert called_at("x.line_9()") is None  # a method of that name may be anything
