"""`pytest --sonde` as a user types it: tests keep their outcomes, slow ones are explained, limits fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.integrations.pytest_plugin import check_limits

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import time

import pytest


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(100))


def test_quick():
    pass


def test_slow():
    burn(1.0)


@pytest.mark.sonde(step_ms=1)
def test_without_steps():
    burn(0.2)


def test_wrong():
    assert 1 == 2
"""
STEPS = """
import pytest
import sonde


@pytest.mark.sonde(step_ms={limit})
def test_steps():
    for _ in range(6):
        sum(range(2_000_000))
        sonde.step()
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "sonde.integrations.pytest_plugin",
    ]
    return subprocess.run(
        [*command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_outcomes_stay_and_slow_tests_are_explained(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    done = run(tmp_path, "--sonde", "-q")
    assert "1 failed, 3 passed" in done.stdout
    assert done.returncode == 1
    slowest = next(line for line in done.stdout.splitlines() if "test_some.py::test_slow" in line)
    assert "burn (test_some.py" in slowest
    assert "step_ms cannot be judged: no steps" in done.stdout
    assert (tmp_path / "sonde-tests" / "tests.sonde").is_dir()


@pytest.mark.parametrize(("limit", "code"), [(0.01, 1), (60_000, 0)])
def test_a_step_over_its_limit_fails_the_run(tmp_path: Path, limit: float, code: int) -> None:
    (tmp_path / "test_steps.py").write_text(STEPS.format(limit=limit))
    done = run(tmp_path, "--sonde", "-q")
    assert "1 passed" in done.stdout
    assert done.returncode == code, done.stdout
    assert ("FAILED test_steps.py::test_steps: a step takes" in done.stdout) == bool(code)


def test_without_the_option_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("def test_quick():\n    pass\n")
    done = run(tmp_path, "-q")
    assert done.returncode == 0
    assert "sonde" not in done.stdout
    assert not (tmp_path / "sonde-tests").exists()


def test_a_misspelt_limit_is_an_error() -> None:
    with pytest.raises(pytest.UsageError, match="step_sm"):
        check_limits((), {"step_sm": 3})
    with pytest.raises(pytest.UsageError, match="graph_braek"):
        check_limits((), {"no_new": ["graph_braek"]})
