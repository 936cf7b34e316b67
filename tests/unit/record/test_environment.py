"""The variables that let the observers in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.record.frameworks.collect import _isolating_flag
from sonde.record.outside.environment import BOOTSTRAP, ObserveOptions, parse_window, python_environment


def test_the_users_pythonpath_stays_behind_ours(tmp_path: Path) -> None:
    found = python_environment(tmp_path, environment={"PYTHONPATH": "/a:/b"})
    assert found["PYTHONPATH"].split(os.pathsep) == [str(BOOTSTRAP), "/a", "/b"]


def test_no_pythonpath_leaves_no_empty_entry(tmp_path: Path) -> None:
    assert python_environment(tmp_path, environment={})["PYTHONPATH"] == str(BOOTSTRAP)


def test_the_bootstrap_is_where_the_variable_says() -> None:
    assert (BOOTSTRAP / "sitecustomize.py").is_file()


def test_a_window_of_steps_reaches_the_observers(tmp_path: Path) -> None:
    found = python_environment(tmp_path, ObserveOptions(window="steps=10:13"), {})
    settings = json.loads(found["SONDE_OBSERVE"])
    assert (settings["window"], settings["first"], settings["last"]) == ("steps", 10, 13)


@pytest.mark.parametrize("text", ["some", "steps=3", "steps=5:5", "steps=9:2", ""])
def test_a_window_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_window(text)


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("python -I train.py", "-I"),
        ("/usr/bin/python3.11 -BS train.py", "-S"),
        ("python -X dev -E train.py", "-E"),
        ("python -Xdev train.py -I", None),
        ("python -W error::E train.py", None),
        ("python -m sonde -S", None),
        ("python -c 'print(1)' -E", None),
        ("python train.py", None),
        ("bash -I x", None),
        ("", None),
    ],
)
def test_interpreter_options_that_keep_the_bootstrap_out(command: str, flag: str | None) -> None:
    assert _isolating_flag(command) == flag
