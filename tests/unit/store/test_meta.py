"""meta.json of anyone: every field has its type, or one line says which does not."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import InputError
from sonde.store.meta import Clock, Meta


def _read(folder: Path, **changed: Any) -> Meta:
    Meta(program="a.py").write(folder)
    data = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**data, **changed}))
    return Meta.read(folder)


WRONG: list[Any] = ["text", 7, 1.5, True, None, [], [1], {}, {"a": [1]}, [[]], 10**30, float("nan"), 1e400]
FITS = {
    "sonde_version": str, "source": str, "program": str, "directory": str, "started": str, "schema_version": int,
    "duration_s": (int, float), "exit_code": int, "complete": bool, "command": list, "options": dict,
    "environment": dict, "machine": dict, "versions": dict, "clock": dict, "details": dict, "files": dict,
}  # fmt: skip


@pytest.mark.parametrize("name", [f.name for f in fields(Meta) if f.name != "schema_version"])
def test_a_field_of_another_type_is_one_line(name: str, tmp_path: Path) -> None:
    refused = 0
    for wrong in WRONG:
        if isinstance(wrong, FITS[name]) and (not isinstance(wrong, bool) or FITS[name] is bool):
            continue
        if name == "exit_code" and (wrong is None or isinstance(wrong, float)):
            continue  # NaN is read as null, and null is allowed there
        with pytest.raises(InputError, match=name) as caught:
            _read(tmp_path, **{name: wrong})
        assert "\n" not in caught.value.message
        assert len(caught.value.message) < 500
        refused += 1
    assert refused > 4


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"exit_code": 2**63}, "exit_code is 9223372036854775808; a whole number was expected"),
        ({"duration_s": 10**400}, "duration_s is a number of many digits"),
        ({"command": ["python", 3]}, r"command\[1\] is 3; text was expected"),
        ({"environment": {"A": 1}}, "environment.A is 1"),
        ({"clock": {"sources": {"kineto": "soon"}}}, "clock.sources.kineto is 'soon'; a whole number"),
        ({"clock": {"uncertainty_ns": [0]}}, "clock.uncertainty_ns is a JSON list"),
        ({"schema_version": [1]}, "schema version"),
    ],
)
def test_the_message_names_place_value_and_expectation(
    changed: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=says):
        _read(tmp_path, **changed)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "7", "{", '{"format": 1}', "[" * 100_000, '{"a":' * 100_000, "\x00", '"\\ud800"'],
)
def test_what_is_no_meta_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text(text)
    with pytest.raises(InputError) as caught:
        Meta.read(tmp_path)
    assert "\n" not in caught.value.message


def test_bytes_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_bytes(b'{"format": "\xff\xfe"}')
    with pytest.raises(InputError, match="cannot be read"):
        Meta.read(tmp_path)


def test_numbers_that_are_none_are_unknown_inside_free_fields(tmp_path: Path) -> None:
    assert _read(tmp_path, machine={"a": float("nan"), "b": [1e400]}).machine == {"a": None, "b": [None]}


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    made = Meta(
        program="\udcff\udce9.py", command=["python", "\udcff\udce9.py"], clock=Clock(1, 2, 3, {"k": 4})
    )
    made.write(tmp_path)
    assert Meta.read(tmp_path) == made
    (tmp_path / "meta.json").read_bytes().decode("utf-8")


def test_fields_of_a_newer_sonde_are_left_out(tmp_path: Path) -> None:
    assert _read(tmp_path, new_field={"x": 1}).program == "a.py"


@pytest.mark.parametrize("value", ["x", [], {}, True])
def test_counts_of_the_machine_are_numbers(value: object, tmp_path: Path) -> None:
    """`sonde show machine` ended in a TypeError."""
    Meta(machine={"memory_bytes": 5}).write(tmp_path)
    path = tmp_path / "meta.json"
    path.write_text(path.read_text().replace('"memory_bytes": 5', f'"memory_bytes": {json.dumps(value)}'))
    with pytest.raises(InputError, match="memory_bytes is not a number"):
        Meta.read(tmp_path)
