"""The short form of benchmarks/suites/soak.py."""

from __future__ import annotations

import pytest

from benchmarks.suites.soak import soak

pytestmark = pytest.mark.serial


@pytest.mark.slow
def test_churn_of_everything_at_2000_hz() -> None:
    for result in soak(seconds=10, rate_hz=2000):
        assert result.failures() == []
        assert result.samples > 2000
        assert result.lost.keys() <= {"wait_changed", "node_epochs", "ring_full", "python_walk_failed"}
        # A frame that is freed while it is read: counted, and rare.
        assert result.lost.get("python_walk_failed", 0) <= 1e-3 * result.samples
