"""The small functions on columns, beside numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.columns import distinct, median


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_median_is_numpys(count: int, kind: type) -> None:
    values = (np.random.default_rng(count).random(count) * 1e9).astype(kind)
    assert median(values) == np.median(values)


def test_median_of_nothing_and_of_the_unknown_is_unknown() -> None:
    assert np.isnan(median([]))
    assert np.isnan(median([1.0, float("nan"), 3.0]))


def test_distinct_is_numpys_unique() -> None:
    values = np.array([3, 1, 3, 2, 1])
    assert distinct(values).tolist() == np.unique(values).tolist() == [1, 2, 3]
