"""Every pass is pure, does nothing without its tables, and runs for every way in."""

from __future__ import annotations

import pytest

from sonde.columns import Table
from sonde.link import CALL_PASSES, RECORDING_PASSES, Pass, link
from sonde.store import build
from sonde.store.schema import TABLES
from tests.fixtures.synthetic import training_run


@pytest.mark.parametrize("one", RECORDING_PASSES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("tables", [{}, {name: build.empty(name) for name in TABLES}], ids=["none", "empty"])
def test_a_pass_without_its_tables_does_nothing(one: Pass, tables: dict[str, Table]) -> None:
    assert one(tables) == {}


def test_tables_without_calls_are_linked_as_well() -> None:
    assert list(link({"losses": build.empty("losses")})) == ["losses"]


@pytest.mark.parametrize("one", [*CALL_PASSES, *RECORDING_PASSES], ids=lambda one: one.__name__)
def test_a_pass_changes_columns_and_neither_rows_nor_its_input(one: Pass) -> None:
    recording = training_run(steps=6)
    before = {name: recording.table(name) for name in TABLES}
    kept = {name: {c: table.columns[c].tolist() for c in table} for name, table in before.items()}
    after = one(before)
    for name, table in after.items():
        assert len(table) == len(before[name])
        assert set(table) == set(before[name])
    for name, table in before.items():
        for column, values in kept[name].items():
            now = table.columns[column].tolist()
            assert all(a == b or (a != a and b != b) for a, b in zip(values, now, strict=True)), (
                name,
                column,
            )


def test_linking_twice_changes_nothing() -> None:
    recording = training_run(steps=6)
    once = link({name: recording.table(name) for name in TABLES})
    twice = link(once)
    for name in TABLES:
        for column in once[name]:
            assert repr(once[name].columns[column].tolist()) == repr(twice[name].columns[column].tolist())
