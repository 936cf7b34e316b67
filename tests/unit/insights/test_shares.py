"""Wilson's interval against values computed by hand and by the textbook."""

from __future__ import annotations

from sonde.insights.shares import exact, wilson


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
