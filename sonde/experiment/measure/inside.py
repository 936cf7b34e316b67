"""How an arm's changes reach the inside of its process, and what they say took effect.

In: an arm, or a plan of flips. Out: environment variables; afterwards the notes that
`bootstrap/sitecustomize.py` left. An arm whose change did not take effect is an error: it would be
compared with itself and called "same".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BOOTSTRAP = Path(__file__).resolve().parents[1] / "bootstrap"
VARIABLE = "SONDE_EXPERIMENT"


def inside_environment(
    spec: Mapping[str, Any], folder: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Variables that make a Python program do what `spec` says; none for an empty one."""
    if not spec:
        return {}
    previous = environment.get("PYTHONPATH")
    path = str(BOOTSTRAP) + (os.pathsep + previous if previous else "")
    return {"PYTHONPATH": path, VARIABLE: json.dumps({**spec, "folder": str(folder.resolve())})}


def notes(folder: Path) -> list[tuple[str, str]]:
    """(kind, text) in the order noted."""
    path = folder / "inside.txt"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(kind, text) for kind, _, text in (line.partition(" ") for line in lines)]


def applied(spec: Mapping[str, Any], folder: Path) -> int:
    """How often the changes took effect; -1 when there are none to apply."""
    if not spec:
        return -1
    return sum(1 for kind, _ in notes(folder) if kind in ("code", "patched", "flip"))
