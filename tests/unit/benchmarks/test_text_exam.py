"""The exam's own marking: what counts as file, line and fix, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.suites.text_exam import FIXES, PITFALLS, lines_of_the_mistake, score


def accepted(name: str) -> set[int]:
    return lines_of_the_mistake((PITFALLS / f"{name}.py").read_text(encoding="utf-8"))


def numbered(name: str, text: str) -> int:
    lines = (PITFALLS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def answer(**card: Any) -> dict[str, Any]:
    return {"insights": [{"title": "", "fix": "", "evidence": [], **card}]}


@pytest.mark.parametrize(
    ("name", "mistake", "elsewhere"),
    [
        ("page_faults", "a + b", "optimizer.step()"),  # the other branch of the question
        ("collate", "row.tolist()", "model(x)"),  # a function that the statement names
        ("tensor_from_list", "0.0 if j <= i", "torch.manual_seed"),  # one that it calls
        ("recompiles", "model(torch.randn", "for step in steps"),  # the use of what it sets
        ("gil_contention", "sum(range(1000))", "optimizer.step()"),  # the function that it stands in
    ],
)
def test_lines_of_the_mistake_and_no_others(name: str, mistake: str, elsewhere: str) -> None:
    assert numbered(name, mistake) in accepted(name)
    assert numbered(name, elsewhere) not in accepted(name)


def test_no_program_accepts_most_of_its_lines() -> None:
    for name in FIXES:
        code = (PITFALLS / f"{name}.py").read_text(encoding="utf-8").splitlines()
        assert len(accepted(name)) < 0.75 * len([line for line in code if line.strip()]), name


def test_a_whole_answer_needs_all_three_in_one_card() -> None:
    line = numbered("embedding", "sparse")
    good = {"file": "/x/embedding.py", "line": line, "fix": "nn.Embedding(n, d, sparse=True)"}
    assert score("embedding", answer(**good))["whole"]
    for key, wrong in (("file", "/x/other.py"), ("line", 1), ("fix", "use less of it")):
        assert not score("embedding", answer(**{**good, key: wrong}))["whole"], key
    split = {
        "insights": [answer(**{**good, "fix": "x"})["insights"][0], answer(fix=good["fix"])["insights"][0]]
    }
    assert not score("embedding", split)["whole"]


def test_words_of_the_title_and_the_files_own_name_are_no_fix() -> None:
    for name in FIXES:
        told = answer(title=f"{name}: mistake (/x/{name}.py:1)", fix=f"# {name}.py:1: look here")
        assert not score(name, told)["any"]["fix"], name


def test_nothing_found_scores_nothing() -> None:
    assert not any(score("embedding", {"insights": []})["any"].values())
