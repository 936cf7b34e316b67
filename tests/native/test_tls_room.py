"""The build's check of the agent's thread-local variables: it reads the library, and it can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.native import agent_path

SCRIPT = Path(__file__).parents[2] / "native" / "tls_room.py"


def check(library: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, library], capture_output=True, text=True)


def with_variables(folder: Path, count: int) -> Path:
    library = folder / f"{count}.so"
    source = f"__thread char taken[{count}]; char *at(void) {{ return taken; }}"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
    subprocess.run(command, input=source, text=True, check=True)
    return library


def test_the_agents_variables_fit_into_a_program_with_many_libraries() -> None:
    done = check(Path(agent_path()))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_too_much_fails_the_build(tmp_path: Path) -> None:
    assert check(with_variables(tmp_path, 512)).returncode == 0
    done = check(with_variables(tmp_path, 544))
    assert done.returncode == 1
    assert "thread-local variables take 544 bytes, 512 are allowed" in done.stdout
    assert "would be refused" in done.stderr
