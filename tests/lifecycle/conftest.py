"""Compiles the C programs of this folder, once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lifecycle.recorded import PROGRAMS


@pytest.fixture(scope="session")
def program() -> Iterator[Callable[[str], Path]]:
    """`program("split")` is the path of programs/split.c, compiled at a fixed address."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = Path(tempfile.mkdtemp(prefix="sonde-programs-"))
    folder.chmod(0o755)  # programs run as nobody too

    def build(name: str) -> Path:
        binary = folder / name
        if not binary.exists():
            source = PROGRAMS / f"{name}.c"
            flags = ["-O1", "-g", "-no-pie", "-pthread", "-Wall", "-Wextra", "-D_GNU_SOURCE"]
            subprocess.run(["gcc", *flags, "-o", binary, source], check=True)
        return binary

    yield build
    shutil.rmtree(folder)
