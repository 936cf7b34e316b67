"""Two builds in turns, with launches whose figures are known."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.lib import beside as module
from benchmarks.lib.beside import HERE, Measured, beside

Launch = Callable[[Path, int, float], Measured]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "sonde/_native").mkdir(parents=True)
    (tmp_path / "sonde/_native/libsonde_agent.so").touch()
    return tmp_path


def launches(share_added: float, walk_ratio: float) -> Launch:
    """This build's figures against those of the other, on a machine that drifts far more than they differ."""
    source, drift = random.Random(1), [0.01]
    calls = [0]

    def launch(root: Path, rate_hz: int, seconds: float) -> Measured:
        drift[0] += 0.01 * (calls[0] % 2 == 0)  # between rounds
        calls[0] += 1
        here = root == HERE
        noise = source.gauss(0, 0.0002)
        share = drift[0] + here * share_added + noise
        return Measured(share, 100, share / 2, 30e3, 20e3 * (walk_ratio if here else 1))

    return launch


@pytest.mark.parametrize(
    ("share_added", "walk_ratio", "costs_more"),
    [(0.0, 1.0, False), (-0.002, 0.9, False), (0.002, 1.0, True), (0.0, 1.1, True)],
)
def test_a_build_that_costs_more_is_found_on_a_drifting_machine(
    clone: Path, monkeypatch: pytest.MonkeyPatch, share_added: float, walk_ratio: float, costs_more: bool
) -> None:
    monkeypatch.setattr(module, "launch", launches(share_added, walk_ratio))
    compared = beside(clone, 100, 12.0, 10)
    assert compared.costs_more == costs_more
    assert compared.share_added[0] == pytest.approx(share_added, abs=0.0004)
    assert compared.walk_ratio[0] == pytest.approx(walk_ratio)


def test_a_clone_without_libraries_and_too_few_rounds_are_refused(clone: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="too few"):
        beside(clone, 100, 12.0, 2)
    with pytest.raises(SystemExit, match="no native libraries"):
        beside(tmp_path / "nothing", 100, 12.0, 10)
