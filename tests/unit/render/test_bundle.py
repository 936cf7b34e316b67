"""The committed bundle is the one that web/ builds, and small."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import sonde


def test_bundle_is_fresh_and_small() -> None:
    path = Path(__file__).resolve().parents[3] / "web" / "check_bundle.py"
    spec = importlib.util.spec_from_file_location("check_bundle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.problems(Path(sonde.__file__).parent) == []  # of a wheel, where that is tested
