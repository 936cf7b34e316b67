"""Memory by category on a model whose parameters can be counted by hand, to the byte."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed for this Python"
)

PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(100, 50), torch.nn.ReLU(), torch.nn.Linear(50, 10))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(64, 100)
for _ in range(16):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""
PARAMETER_BYTES = 4 * (100 * 50 + 50 + 50 * 10 + 10)
STEP_COUNTERS_BYTES = 4 * 4  # Adam keeps one float per parameter tensor beside its two moments


def test_categories_to_the_byte(tmp_path: Path) -> None:
    script = tmp_path / "small.py"
    script.write_text(PROGRAM)
    folder = tmp_path / "small.sonde"
    sonde = [sys.executable, "-m", "sonde"]
    run = [*sonde, "run", "--quiet", "--window", "steps=6:12", "-o", str(folder), str(script)]
    subprocess.run(run, check=True, timeout=200)
    done = subprocess.run([*sonde, "show", str(folder), "memory", "--json"], check=True, capture_output=True)
    found = json.loads(done.stdout)
    (device,) = found["devices"]
    held = device["by_category"]
    assert held["parameter"] == PARAMETER_BYTES
    assert held["optimizer_state"] == 2 * PARAMETER_BYTES + STEP_COUNTERS_BYTES
    assert held["gradient"] == PARAMETER_BYTES
    assert device["peak_bytes"] == sum(held.values())
    assert found["host"][0]["max_rss_bytes"] > 50e6
