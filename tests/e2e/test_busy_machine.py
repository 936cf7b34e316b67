"""A program beside two busy neighbours on its only CPU: Sonde says so, and its figures are those of the quiet run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suites.busy_matrix import compared, record

pytestmark = pytest.mark.serial

pytest.importorskip("torch")

PROGRAM = """
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 256)
for _ in range(250):
    loss = model(x).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
NEIGHBOUR = "import time; end = time.monotonic() + 120\nwhile time.monotonic() < end: pass"
CPU = max(os.sched_getaffinity(0))


def _recorded(folder: Path, name: str, neighbours: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """What `sonde run` printed, steps and insights; the program and its neighbours have one CPU together."""
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def to_one_cpu() -> None:
        os.sched_setaffinity(0, {CPU})

    command = [sys.executable, "-S", "-c", NEIGHBOUR]
    others = [subprocess.Popen(command, preexec_fn=to_one_cpu) for _ in range(neighbours)]
    try:
        recording = str(folder / f"{name}.sonde")
        ran = subprocess.run(
            [sys.executable, "-m", "sonde", "run", "-o", recording, str(folder / "program.py")],
            env=environment,
            preexec_fn=to_one_cpu,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        for other in others:
            other.kill()
            other.wait()
    steps, insights = (
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "sonde", *words, "--json"], capture_output=True, text=True, check=True
            ).stdout
        )
        for words in (["show", recording, "steps"], ["insights", recording])
    )
    return ran.stdout + ran.stderr, steps, insights


def test_the_figures_are_those_of_the_quiet_run_and_the_first_line_names_the_machine(tmp_path: Path) -> None:
    _, quiet, alone = _recorded(tmp_path, "quiet", 0)
    said, busy, crowded = _recorded(tmp_path, "busy", 2)
    assert busy["taken_away"]["share"] > 0.5
    first = said[said.index("sonde: ") :].splitlines()[1]
    assert first.startswith("The machine was busy: main was ready but off the CPU ")
    assert first.endswith("wall-clock figures below are of the rest.")
    wall = sum(s["ms"] + s["taken_ms"] for s in busy["steps"]) / busy["count"]
    assert wall > 1.7 * busy["median_ms"]
    assert busy["median_ms"] == pytest.approx(quiet["median_ms"], rel=0.3)
    assert crowded["verdict"]["bound"] == alone["verdict"]["bound"]
    for kind, share in alone["verdict"]["shares"].items():
        assert crowded["verdict"]["shares"][kind] == pytest.approx(share, abs=0.25), kind


def test_a_quota_changes_neither_verdict_nor_operators(tmp_path: Path) -> None:
    """The short form of `python -m benchmarks busy_matrix`; at nice 19 beside a neighbour a program takes minutes."""
    quiet = record("mlp", "quiet", tmp_path, 0.4)
    busy = record("mlp", "quota", tmp_path, 0.4)
    found = compared("mlp", "quota", quiet, busy)
    assert busy["taken"] > 0.3
    assert found["ok"], found
