"""JSON in text columns of a recording that anyone may have made: an answer or "none", never an error."""

from __future__ import annotations

import pytest

from sonde import json_text

HOSTILE = (
    *(
        "",
        "{",
        "nul",
        "[]",
        "[1]",
        "7",
        '"text"',
        "NaN",
        "1e999",
        "9" * 5000,
        "[" * 100_000,
        '{"a":' * 100_000,
    ),
    *('{"a": 1', "\x00", "\ud800", "{}{}", '{"a" 1}', "{'a': 1}"),
)


@pytest.mark.parametrize("cell", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_object_is_an_empty_one(cell: str) -> None:
    assert json_text.object_of(cell) == {}


def test_what_is_no_list_is_none() -> None:
    assert json_text.object_of(None) == {}
    assert json_text.list_of(None) is None
    assert json_text.list_of('{"a": 1}') is None
    assert json_text.list_of("[" * 100_000) is None
    assert json_text.list_of("[1, NaN]") == [1, None]


def test_values_of_another_type_are_none() -> None:
    assert [json_text.whole(v) for v in (7, 7.0, "7", "-7")] == [7, 7, 7, -7]
    wrong = (
        None,
        True,
        7.5,
        float("nan"),
        float("inf"),
        2**63,
        -(2**63) - 1,
        "x",
        "",
        "-",
        "²",
        "9" * 40,
        [],
        {},
    )
    assert {json_text.whole(v) for v in wrong} == {-1}
    assert json_text.whole(2**63 - 1) == 2**63 - 1
    assert [json_text.text(v) for v in ("x", 7, None, [])] == ["x", None, None, None]
    assert [json_text.items(v) for v in ([1], "x", None, {})] == [[1], [], [], []]


def test_figures_that_json_has_not_are_null() -> None:
    nan, inf = float("nan"), float("inf")
    assert (
        json_text.dumps({"a": [1.5, nan, (inf, -inf)], "b": "ä"})
        == '{"a": [1.5, null, [null, null]], "b": "ä"}'
    )
