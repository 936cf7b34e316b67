"""Pages of the benchmarks are made from results: every suite is in the plan, every result has facts and a figure."""

from __future__ import annotations

import importlib
import re
import xml.etree.ElementTree as ET

import pytest

from benchmarks.__main__ import SUITES as FOLDER
from benchmarks.lib.document import document, guide, plots, results, table
from benchmarks.lib.environment import MEGATRON
from benchmarks.lib.everything import everything
from benchmarks.lib.headlines import HEADLINES, README
from benchmarks.lib.plan import SUITES
from benchmarks.lib.plots import MISS, Point, intervals, ticks_of

FOUND = results()


def test_every_suite_is_in_the_plan_and_in_the_guide() -> None:
    files = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
    assert files == sorted(suite.name for suite in SUITES)
    text = guide()
    assert all(len(re.findall(rf"`python -m benchmarks {name}\b", text)) == 1 for name in files)


def test_the_short_forms_take_at_most_15_minutes() -> None:
    assert sum(suite.quick_minutes for suite in SUITES) <= 15
    assert all((suite.quick is None) == (suite.quick_minutes == 0) for suite in SUITES)


@pytest.mark.parametrize("name", FOUND)
def test_a_result_says_where_it_comes_from(name: str) -> None:
    assert {"made", "commit", "version", "command", "machine", "load"} <= set(FOUND[name])


@pytest.mark.parametrize("name", sorted(set(FOUND) & set(HEADLINES)))
def test_a_result_has_a_figure(name: str) -> None:
    what, figure = HEADLINES[name](FOUND[name])
    assert what
    assert any(letter.isdigit() for letter in figure)


def test_readme_has_the_figures_of_the_results() -> None:
    text = table(FOUND)
    for name in README:
        assert HEADLINES[name](FOUND[name])[1] in text
    pictures = plots(FOUND)
    assert all(f"images/{name}" in document(FOUND, pictures) for name in pictures)
    for picture in pictures.values():
        ET.fromstring(picture)


def test_a_prediction_that_missed_is_shown() -> None:
    row = {
        "name": "x",
        "rule": "y",
        "rank": 1,
        "predicted_share": [0.1, 0.2],
        "measured_share": 0.5,
        "covered": False,
    }
    facts = {"made": "2026-01-01", "commit": "abc", "rows": [row]}
    found = {"insights": facts}
    assert "| x | y | 10.0 % to 20.0 % | 50.0 % |" in document(found, {})
    assert MISS in plots(found)["bench-insights.svg"]


def test_a_plot_puts_values_where_they_belong() -> None:
    assert ticks_of(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    text = intervals("t", [Point("a<b", 0.5, 0.0, 1.0, "half")], "axis", str, (0.0, 1.0))
    circle = next(e for e in ET.fromstring(text).iter() if e.tag.endswith("circle"))
    assert float(circle.attrib["cx"]) == pytest.approx((190 + 760 - 130) / 2)


@pytest.mark.parametrize("suite", [suite.name for suite in SUITES])
def test_a_suite_can_be_loaded(suite: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.suites.{suite}").main)


def test_all_analyses_of_a_rank_run() -> None:
    measured = everything(MEGATRON[0])
    assert measured.summary.rank == 0
    assert measured.rows == 9815
