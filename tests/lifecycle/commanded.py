"""Run `sonde` as a user does and read what it recorded: the tool of the tests of whole commands beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[2]

BUSY = """
import os, signal, sys, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""


def sonde(*words: str | bytes | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    environment = {**os.environ, "PYTHONPATH": str(CLONE), **options.pop("env", {})}
    command: Sequence[Any] = [sys.executable, "-m", "sonde", *words]
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, **options}
    return subprocess.run(command, timeout=240, env=environment, **options)


def quality(folder: Path) -> dict[str, Any]:
    """What the recording says of itself."""
    done = sonde("show", folder, "quality", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def query(folder: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of a query."""
    done = sonde("query", folder, "--json", sql)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows
