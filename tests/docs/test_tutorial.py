"""The tutorial's two programs: Sonde names the line that the tutorial says, and the repaired program has none."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.commands import ROOT

STEPS = 250  # enough samples for a verdict

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here"),
]


def programs() -> dict[str, str]:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return dict(re.findall(r'```python title="(\w+\.py)"\n(.*?)```', text, re.DOTALL))


def insights(folder: Path, name: str) -> list[dict[str, object]]:
    words = (["run", "--quiet", f"{name}.py"], ["insights", f"{name}.sonde", "--json"])
    for command in words:
        done = subprocess.run(
            [sys.executable, "-m", "sonde", *command],
            cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, object]] = json.loads(done.stdout)["insights"]
    return found


def test_the_mask_is_found_and_gone_once_repaired(tmp_path: Path) -> None:
    made = programs()
    assert sorted(made) == ["fast.py", "slow.py"]
    for name, text in made.items():
        (tmp_path / name).write_text(text.replace("range(400)", f"range({STEPS})"))
    mask = 1 + made["slow.py"].splitlines().index("        mask = torch.tensor(rows)")
    first = insights(tmp_path, "slow")[0]
    assert (first["rule"], first["line"]) == ("constant_rebuilt", mask)
    assert "register_buffer" in str(first["fix"])
    assert "constant_rebuilt" not in [one["rule"] for one in insights(tmp_path, "fast")]
