"""A program that is no file: its text is carried as other sources are, and its lines are the user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sonde.store.reader import open_recording

PROGRAM = "import time\nfor _ in range(400):\n    sum(range(20000))\n"


@pytest.mark.parametrize("given", ["-c", "-"])
def test_a_program_given_as_an_argument_or_by_standard_input_is_carried(tmp_path: Path, given: str) -> None:
    script, out = tmp_path / "script.txt", tmp_path / "r.sonde"
    script.write_text(PROGRAM)
    words = [given, PROGRAM] if given == "-c" else [given]
    with script.open() as stdin:
        ran = subprocess.run(
            [sys.executable, "-m", "sonde", "run", "-o", out, "--", sys.executable, *words],
            stdin=stdin, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    name = "<string>" if given == "-c" else "<stdin>"
    sources = open_recording(out).table("sources")
    assert sources.text("file").tolist() == [name]
    assert sources.text("text").tolist() == [PROGRAM]
    assert f"<module> ({name}:3)" in ran.stderr
