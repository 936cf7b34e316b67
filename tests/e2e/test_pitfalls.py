"""Planted mistakes from end to end: the rule is first on the mistake, and silent on its repair.

Three of examples/pitfalls, those with the strongest signal whatever else the machine does.
The whole set, with measured savings, is `python -m benchmarks insights`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PITFALLS = Path(__file__).resolve().parents[2] / "examples" / "pitfalls"

pytestmark = [
    pytest.mark.serial,
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here"),
]


def insights(name: str, folder: Path, *words: str) -> list[str]:
    """Rules that speak of a pitfall, best first."""
    target = folder / f"{name}{''.join(words)}.sonde"
    program = [str(PITFALLS / f"{name}.py"), "--seconds", "2", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for command in (["run", "--quiet", "-o", str(target), *program], ["insights", "--json", str(target)]):
        done = subprocess.run(
            [sys.executable, "-m", "sonde", *command],
            env=environment, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert said["failed"] == {}
    return [insight["rule"] for insight in said["insights"]]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("tensor_from_list", "constant_rebuilt"),
        ("collate", "collate_bound"),
        ("detect_anomaly", "debug_left_on"),
    ],
)
def test_the_planted_rule_is_first_and_silent_once_repaired(name: str, rule: str, tmp_path: Path) -> None:
    assert insights(name, tmp_path)[:1] == [rule]
    assert rule not in insights(name, tmp_path, "--fixed")
