"""Wilson's interval against values computed by hand and by the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.insights.shares import exact, widened, wilson


def test_wilson_matches_the_textbook() -> None:
    share = wilson(10, 100, 100)  # 10 of 100: 0.0552 to 0.1744 (Newcombe 1998)
    assert abs(share.low - 0.0552) < 5e-4
    assert abs(share.high - 0.1744) < 5e-4


def test_few_looks_prove_little() -> None:
    assert wilson(1, 4, 4).low < 0.05
    assert wilson(1000, 4000, 4000).low > 0.23


def test_nothing_seen_of_nothing() -> None:
    assert wilson(0, 0, 0).low == 0.0
    assert exact(1, 0).middle == 0.0


def test_a_share_that_changes_within_the_run_is_less_certain_than_its_samples_say() -> None:
    counted = wilson(5000, 10000, 10000)
    steady, changing = np.full(8, 0.5), np.array([0.1, 0.9] * 4)
    assert widened(counted, steady) == counted
    wide = widened(counted, changing)
    # Standard error of eight parts: 0.4276 / sqrt(8); Student's 2.365 at seven degrees of freedom.
    assert (wide.low, wide.high) == pytest.approx((0.5 - 0.3576, 0.5 + 0.3576), abs=1e-3)
    assert wide.middle == 0.5
