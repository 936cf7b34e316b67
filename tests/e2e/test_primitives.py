"""`sonde run --primitives` as a user types it, and the views of what it recorded."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="torch is not installed in this environment"
    ),
]


def sonde(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    command = [sys.executable, "-m", "sonde", *map(str, words)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=280)


def test_primitives_of_a_convnet_are_joined_and_shown_by_module(tmp_path: Path) -> None:
    script = REPOSITORY / "examples" / "convnet.py"
    options = ["-o", "rec.sonde", "--primitives", "--window", "steps=2:4", "--quiet"]
    done = sonde(tmp_path, "run", *options, script, "--steps", "5", "--size", "32", "--batch", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("convnet: 5 steps, loss ")
    assert len(done.stdout.splitlines()) == 1
    shown = sonde(tmp_path, "show", "rec.sonde", "primitives", "--by", "module", "--json")
    assert shown.returncode == 0, shown.stderr
    data: dict[str, Any] = json.loads(shown.stdout)
    assert data["joined_share"] >= 0.99
    assert data["isa"]
    modules = {r["module"] for r in data["rows"] if r["kind"] == "convolution"}
    assert {"stages.0.0.conv1", "stages.3.1.conv2", "stem.0"} <= modules
    # No roof was measured on this machine (an empty cache): the view says how to get one.
    roofline = sonde(tmp_path, "show", "rec.sonde", "roofline")
    assert roofline.returncode == 4
    assert "sonde check --roof" in roofline.stderr
    # Against a given roof every operator and primitive has its bound, its time at the roof and its efficiency.
    roof = {"name": "f32", "threads": 1, "best": 100e9, "median": 90e9, "samples": 9}
    bandwidth = {"name": "memory", "threads": 1, "best": 10e9, "median": 9e9, "samples": 9}
    about = {"format": 1, "machine": "m", "when": "2026", "source": "native", "seconds": 1.0}
    roofs = {**about, "peaks": [roof], "bandwidths": [bandwidth]}
    (tmp_path / "roofs.json").write_text(json.dumps(roofs))
    shown = sonde(tmp_path, "show", "rec.sonde", "roofline", "--roof", "roofs.json", "--json")
    assert shown.returncode == 0, shown.stderr
    held: dict[str, Any] = json.loads(shown.stdout)
    for row in (*held["ops"], *held["primitives"]):
        if row["flops"] is None or row["bytes"] is None:
            continue
        assert row["roof_ms"] == pytest.approx(max(row["flops"] / 100e9, row["bytes"] / 10e9) * 1e3)
        assert row["efficiency"] == pytest.approx(row["roof_ms"] / row["total_ms"])
        assert row["bound"] == ("compute" if row["flops"] / row["bytes"] > 10 else "memory")
    # Of a 3 x 3 window over one pixel with padding, only the middle counts.
    (small,) = (r for r in held["ops"] if r["shapes"].startswith("[[4, 256, 1, 1], [256, 256, 3, 3]"))
    assert small["flops"] == small["calls"] * 2 * 4 * 256 * 256
