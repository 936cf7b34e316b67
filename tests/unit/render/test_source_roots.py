"""Whose files are embedded: those of the folder one stood in, and those beside the script that was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.render.html.options import ReportOptions
from sonde.render.html.source import _roots
from sonde.store.meta import Meta
from sonde.store.recording import Recording


@pytest.mark.parametrize(
    ("command", "program", "wanted"),
    [
        (["python", "/home/me/model/train.py"], "train.py", ["/tmp/runs", "/home/me/model"]),
        (["python", "../model/train.py"], "train.py", ["/tmp/runs", "/tmp/model"]),
        (["/usr/bin/torchrun", "x.py"], "torchrun", ["/tmp/runs"]),
        (["python", "/venv/bin/tool.py"], "tool.py", ["/tmp/runs"]),
        ([], "", ["/tmp/runs"]),
    ],
)
def test_the_script_is_the_users_own(command: list[str], program: str, wanted: list[str]) -> None:
    recording = Recording(Meta(program=program, command=command, directory="/tmp/runs"))
    assert _roots(recording, ReportOptions()) == [Path(folder) for folder in wanted]
