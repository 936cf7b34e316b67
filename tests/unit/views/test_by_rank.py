"""Views of some ranks, and of all side by side."""

from __future__ import annotations

import json

import pytest

from sonde.cli.main import main
from sonde.errors import UsageError
from sonde.store.ranks import only_ranks, parse_ranks
from sonde.views import VIEWS
from sonde.views.by_rank import by_rank
from sonde.views.options import ShowOptions
from tests.fixtures.made_job import job_run
from tests.fixtures.synthetic import training_run


def test_the_spread_of_steps_has_each_rank_and_the_largest() -> None:
    made = job_run()
    (step,) = [row for row in by_rank("steps", made, ShowOptions()).rows if row.name == "step"]
    assert step.ranks == {"0": pytest.approx(32.0), "1": pytest.approx(32.0)}
    assert (step.least, step.most) == (pytest.approx(32.0), pytest.approx(32.0))


def test_only_the_ranks_that_were_asked_for_are_left() -> None:
    part = only_ranks(job_run(), [1])
    assert [r["rank"] for r in VIEWS["ranks"].data(part, ShowOptions())["rows"]] == [1]
    assert len(part.table("collectives")) == 12


@pytest.mark.parametrize(("text", "ranks"), [("3", [3]), ("0,3", [0, 3]), ("0-2,5", [0, 1, 2, 5])])
def test_ranks_are_understood(text: str, ranks: list[int]) -> None:
    assert parse_ranks(text) == ranks


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "1;2"])
def test_what_is_no_rank_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_ranks(text)


def test_a_rank_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no rank 7"):
        only_ranks(job_run(), [7])


def test_a_program_without_ranks_cannot_be_shown_by_rank() -> None:
    with pytest.raises(UsageError, match="has no ranks"):
        by_rank("steps", training_run(), ShowOptions())


def test_every_view_that_is_spread_answers(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    from pathlib import Path

    from sonde.store.writer import write_tables

    target = Path(str(tmp_path)) / "job.sonde"
    made = job_run()
    write_tables(target, made.tables())
    made.meta.write(target)
    for view in ("steps", "ops", "waits", "memory", "account"):
        assert main(["show", str(target), view, "--by", "rank", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["view"] == view
    assert main(["show", str(target), "gpu", "--by", "rank"]) == 2
