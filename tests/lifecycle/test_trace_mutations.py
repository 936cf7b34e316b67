"""Ten thousand mutated traces in a process of their own, with a memory limit: none breaks the reader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_mutated_traces_end_in_a_recording_or_an_input_error() -> None:
    from tests.unit.importers.slow_oracle import data_folder

    folder = data_folder()
    files = sorted((folder / "traces/malformed").glob("*.json*")) if folder else []
    command = [sys.executable, "-m", "tests.fuzz.trace_mutations", "--count", "10000", "--seed", "7"]
    done = subprocess.run(
        [*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert seen["mutations"] == 10_000
    assert seen["with losses"] > 1000  # the mutations do bite
    assert seen["peak_mb"] < 500
