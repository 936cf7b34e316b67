"""CONTRIBUTING names every folder of tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_test_folders_is_complete() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Tests")[2]
    named = set(re.findall(r"`tests/(\w+)`", table))
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.glob("[!_.]*"))}
    assert folders - {"__pycache__"} <= named
