"""`sonde demo` as the first thing that a user types. (Without torch: tests/lifecycle/test_install.py.)"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.serial


def sonde(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *words], text=True, capture_output=True, timeout=290, cwd=folder
    )


def next_commands(output: str) -> list[list[str]]:
    lines = output.partition("go on here:\n")[2].splitlines()
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_with_torch_it_records_writes_a_page_and_names_the_mistake(tmp_path: Path) -> None:
    done = sonde(tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"demo.sonde", "demo.html"}
    assert (tmp_path / "demo.html").as_uri() in done.stdout
    assert "torch is not installed" not in done.stdout
    insights, show, run = next_commands(done.stdout)
    assert run == ["sonde", "run", "your_script.py"]
    said = sonde(tmp_path, *insights[1:])
    assert said.returncode == 0, said.stderr
    assert "float64" in said.stdout
    assert "aten::" in sonde(tmp_path, *show[1:]).stdout


def test_the_numpy_example_needs_no_torch_and_a_second_demo_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "demo.html").write_text("mine")
    (tmp_path / "demo.sonde").mkdir()
    done = sonde(tmp_path, "demo", "--example", "numpy")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo.html").read_text() == "mine"
    assert not list((tmp_path / "demo.sonde").iterdir())
    assert (tmp_path / "demo-2.html").stat().st_size > 100_000
    _, show, _ = next_commands(done.stdout)
    stacks = sonde(tmp_path, *show[1:])
    assert stacks.returncode == 0, stacks.stderr
    assert "scaled" in stacks.stdout
