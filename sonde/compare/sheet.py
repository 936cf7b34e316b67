"""One way of splitting a recording's time or memory: named values, per step, in repetitions.

A sheet has a row per name and a column per block of steps (see `blocks`). Sheets of one
dimension from several recordings are what a difference is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from sonde.analyze.base.moments import weight_squares
from sonde.columns import Array, Text
from sonde.compare.blocks import Blocks


@dataclass(frozen=True)
class Sheet:
    """`values[i, j]` is the value per step of `names[i]` in block j."""

    dimension: str  # op, shape, module, function, line, kernel, state, primitive, memory
    source: str  # where the values come from, in words
    measure: str  # ms or bytes
    unit: str  # step or run
    names: list[str]
    values: Array
    # Variance of each row's mean that counting samples alone explains; None where nothing is sampled.
    sampling_variance: Array | None = None

    @property
    def means(self) -> Array:
        return self.values.mean(axis=1) if self.values.size else np.zeros(len(self.names))

    def renamed(self, name_of: Callable[[str], str]) -> Sheet:
        """The sheet with other names; rows that get one name are added up."""
        if not self.names:
            return self
        wanted = [name_of(name) for name in self.names]
        names = sorted(set(wanted))
        index = {name: i for i, name in enumerate(names)}
        at = np.array([index[name] for name in wanted], np.int64)
        values = np.zeros((len(names), self.values.shape[1]))
        np.add.at(values, at, self.values)
        variance = self.sampling_variance
        if variance is not None:
            variance = np.bincount(at, variance, len(names))
        return Sheet(self.dimension, self.source, self.measure, self.unit, names, values, variance)


def tally(
    dimension: str,
    source: str,
    keys: Text,
    block: Array,
    amount: Array,
    blocks: Blocks,
    measure: str = "ms",
    moment: Array | None = None,
) -> Sheet:
    """Add up `amount` by key and block, per step; rows without a key or outside all blocks do not count.

    `moment` (see `moments`): what is added up are samples, and their number limits what is known.
    """
    keep = (keys.codes >= 0) & (block >= 0)
    count, size = blocks.count, len(keys.values)
    flat = keys.codes[keep].astype(np.int64) * max(count, 1) + block[keep]
    total = np.bincount(flat, amount[keep], size * max(count, 1)).reshape(size, max(count, 1))
    steps = np.maximum(blocks.steps, 1) if count else np.ones(1)
    variance = None
    if moment is not None:
        # Moments come as a Poisson process: the variance of a sum of weights is the sum of their squares.
        squares = weight_squares(moment[keep], amount[keep].astype(np.float64), keys.codes[keep], size)
        variance = squares / float(max(steps.sum(), 1)) ** 2
    used = np.flatnonzero(total.any(axis=1))
    return Sheet(
        dimension,
        source,
        measure,
        blocks.unit,
        [keys.values[i] for i in used.tolist()],
        total[used] / steps,
        None if variance is None else variance[used],
    )


def coded(codes: Array, names: Iterable[str]) -> Text:
    """A text column from integer codes, -1 for none."""
    return Text(np.asarray(codes, np.int32), list(names))


def side_by_side(parts: Iterable[Iterable[Sheet]]) -> list[Sheet]:
    """Sheets of several ranks as one per dimension and source: the blocks of all, a name that a rank lacks being 0."""
    found: dict[tuple[str, str], list[Sheet]] = {}
    for sheets in parts:
        for sheet in sheets:
            found.setdefault((sheet.dimension, sheet.source), []).append(sheet)
    joined = []
    for same in found.values():
        names = sorted({name for sheet in same for name in sheet.names})
        index = {name: i for i, name in enumerate(names)}
        blocks = []
        for sheet in same:
            values = np.zeros((len(names), sheet.values.shape[1]))
            values[[index[name] for name in sheet.names]] = sheet.values
            blocks.append(values)
        joined.append(
            replace(same[0], names=names, values=np.concatenate(blocks, axis=1), sampling_variance=None)
        )
    return joined
