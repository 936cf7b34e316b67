"""Columns declared once: every format of a view is made from them."""

from __future__ import annotations

import csv
import importlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from sonde.analyze.ranks.answer import GpuAnswer
from sonde.cli.main import main
from sonde.errors import InputError, UsageError
from sonde.rows import typed
from sonde.store import query
from sonde.views import VIEWS
from sonde.views.columns import Column, columns_of, matching, ordered, plain
from sonde.views.document import TARGET as DOCUMENT
from sonde.views.document import document
from sonde.views.options import ShowOptions
from sonde.views.tabular import made_tables, view_columns, write_csv
from sonde.views.typescript import TARGET, typescript
from tests.fixtures.compiled_run import compiled_run
from tests.fixtures.device_run import device_run
from tests.fixtures.made_job import job_run
from tests.fixtures.synthetic import training_run

ROOT = Path(__file__).resolve().parents[3]
# Made-up recordings that have rows of the view, where the training run has none.
RECORDINGS = {"ranks": job_run, "collectives": job_run, "gpu": device_run, "compile": compiled_run}
TABULAR = [name for name, view in VIEWS.items() if view.sql]


@dataclass(frozen=True)
class Row:
    name: Annotated[str, Column("Name")]
    ms: Annotated[float | None, Column("time", "ms", "how long")]
    secret: int = 0  # not a column


def test_columns_have_the_fields_key_type_and_whether_it_may_be_unknown() -> None:
    assert [(c.key, c.kind, c.unknown, c.said.unit) for c in columns_of(Row)] == [
        ("name", "text", False, ""),
        ("ms", "number", True, "ms"),
    ]


def test_rows_are_sorted_by_a_declared_column_with_unknown_values_last() -> None:
    rows = [Row("b", None), Row("a", 1.0), Row("c", float("nan")), Row("d", 3.0)]
    assert [r.name for r in ordered(rows, Row, None, "ms")][:2] == ["d", "a"]
    assert [r.name for r in ordered(rows, Row, "name", "ms")] == ["a", "b", "c", "d"]
    with pytest.raises(UsageError, match="cannot sort by 'secret'"):
        ordered(rows, Row, "secret", "ms")
    with pytest.raises(UsageError, match="regular expression"):
        matching(rows, "(", lambda r: r.name)


def test_what_is_not_finite_is_null() -> None:
    assert plain([Row("a", float("inf"))]) == [{"name": "a", "ms": None, "secret": 0}]


@pytest.mark.parametrize("name", TABULAR)
def test_json_csv_and_sql_of_a_view_have_the_same_cells(name: str) -> None:
    recording, options = RECORDINGS.get(name, training_run)(), ShowOptions()
    view, columns = VIEWS[name], view_columns(name)
    assert all(column.said.title and column.kind != "object" for column in columns)
    rows = view.data(recording, options)[view.rows]
    wanted = [[row[column.key] for column in columns] for row in rows]
    text = io.StringIO()
    write_csv(name, view.answer(recording, options), None, text)
    header, *cells = csv.reader(io.StringIO(text.getvalue()))
    assert header == [column.key for column in columns]
    assert [["" if v is None else str(v) for v in row] for row in wanted] == [
        [cell.removeprefix("'") for cell in row] for row in cells
    ]
    sql = f"SELECT * FROM {view.sql}"
    with query.Session(recording, sql, made_tables()) as session:
        found = session.ask(sql)
        assert found.names == header
        assert [list(row) for row in found.rows] == wanted
    assert rows or name == "losses"


def test_an_answer_can_be_kept_as_json_and_read_back() -> None:
    answer = VIEWS["gpu"].answer(device_run(), ShowOptions())
    assert typed(GpuAnswer, json.loads(json.dumps(plain(answer)))) == answer
    damaged = plain(answer)
    damaged["devices"][0]["events"] = "many"
    with pytest.raises(ValueError, match="events is str"):
        typed(GpuAnswer, damaged)
    recording = device_run()
    recording.meta.details["all_ranks"] = damaged
    with pytest.raises(InputError, match="is damaged"):
        VIEWS["gpu"].answer(recording, ShowOptions())


def test_the_types_of_the_report_are_those_that_are_declared() -> None:
    """After a change that is meant: python -m sonde.views.typescript"""
    assert (ROOT / TARGET).read_text(encoding="utf-8") == typescript()


def test_the_documented_json_is_what_is_declared() -> None:
    """After a change that is meant: python -m sonde.views.document"""
    assert (ROOT / DOCUMENT).read_text(encoding="utf-8") == document()


def test_a_view_that_is_not_one_table_refuses_csv(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "nothing.sonde", "quality", "--csv"]) == 2
    assert "use --json" in capsys.readouterr().err


def test_every_module_of_a_view_answers_and_is_json() -> None:
    for view in VIEWS.values():
        assert callable(importlib.import_module(view.module).data)
    json.dumps(VIEWS["ops"].data(training_run(), ShowOptions()), allow_nan=False)
