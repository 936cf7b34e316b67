"""Damaged tables in which calls enclose each other end in an error, not in an endless loop."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.base.nesting import depths, skip
from sonde.errors import InputError


@pytest.mark.parametrize("parent", [[0], [1, 0], [2, 0, 1, -1]])
def test_a_circle_of_parents_is_an_error(parent: list[int]) -> None:
    circle = np.array(parent, np.int64)
    with pytest.raises(InputError, match="circle"):
        depths(circle)
    with pytest.raises(InputError, match="circle"):
        skip(circle, np.zeros(len(circle), np.bool_))


def test_deep_chains_are_no_circle() -> None:
    chain = np.arange(-1, 499, dtype=np.int64)
    assert depths(chain).tolist() == list(range(500))
    assert skip(chain, np.zeros(500, np.bool_)).tolist() == [-1] * 500
