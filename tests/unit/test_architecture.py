"""docs/architecture.md says what is: its files exist, and its layers are those of the contract."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:sonde|native|tests|web)/[\w./]+)`", PAGE))
    assert len(named) > 40
    assert not [name for name in sorted(named) if "VIEW" not in name and not (ROOT / name).exists()]


def test_the_layers_of_the_page_are_those_of_the_contract() -> None:
    drawn = re.search(r"```\n(cli\n.*?)```", PAGE, re.DOTALL)
    contract = re.search(
        r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE
    )
    assert drawn
    assert contract
    listed = re.findall(r'"([^"]+)"', contract[1])
    assert drawn[1].split("\n")[:-1] == [line.replace("sonde.", "").replace(".", "/") for line in listed]


def test_the_layers_have_no_exceptions() -> None:
    assert "ignore_imports" not in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("folder", [p.parent.name for p in sorted((ROOT / "sonde").glob("*/__init__.py"))])
def test_every_room_is_on_the_page(folder: str) -> None:
    if folder != "examples":  # built-in programs of `sonde demo`, no code of Sonde's
        assert f"`sonde/{folder}" in PAGE
