"""Which arm runs when: pairs in random order, so that drift favours neither."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def pair_orders(seed: int) -> Iterator[tuple[str, str]]:
    """Endless ("A", "B") or ("B", "A"), by coin, balanced within every four pairs.

    Balance inside short blocks keeps the coin fair (each order is as likely) while a
    slow drift can favour one side by no more than two pairs.
    """
    coin = np.random.default_rng(seed)
    while True:
        block = [("A", "B"), ("A", "B"), ("B", "A"), ("B", "A")]
        for i in coin.permutation(4):
            yield block[int(i)]
