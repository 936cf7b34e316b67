"""Run a Python program with the observers in, without the sampling agent, and read what they left."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from sonde.record.frameworks.collect import Told, framework_tables
from sonde.record.inside.options import ObserveOptions
from sonde.record.outside.environment import python_environment

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed for this Python"
)


@dataclass(frozen=True)
class Observed:
    """A program that has ended."""

    code: int
    stdout: str
    stderr: str
    raw: Path

    def framework(self) -> Told:
        return framework_tables(self.raw)

    def marks(self, kind: str, name: str | None = None) -> int:
        """How many marks there are of a kind and name."""
        table = self.framework().tables["marks"]
        chosen = table.text("kind").equals(kind)
        if name is not None:
            chosen &= table.text("name").equals(name)
        return int(chosen.sum())

    def causes(self) -> list[str | None]:
        return self.framework().tables["losses"].text("cause").tolist()


def run(
    folder: Path,
    program: str,
    window: str = "none",
    flags: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    budget: float = 0.02,
    primitives: bool = False,
) -> Observed:
    """Write the program to a file and run it under the bootstrap."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(program), encoding="utf-8")
    recording = folder / "out.sonde"
    base = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
    base.pop("PYTHONPATH", None)
    if environment and "PYTHONPATH" in environment:
        base["PYTHONPATH"] = environment["PYTHONPATH"]
    options = ObserveOptions(window=window, budget=budget, primitives=primitives)
    base |= python_environment(recording, options, base)
    done = subprocess.run(
        [sys.executable, *flags, str(script)],
        env=base,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        check=False,
    )
    return Observed(done.returncode, done.stdout, done.stderr, recording / "raw")
