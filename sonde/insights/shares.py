"""Shares of time from samples, with the uncertainty that the number of samples leaves.

Enters: how much of a whole was seen, and how many independent looks that whole stands for. Leaves: a
`Share` with the bounds of Wilson's interval (95 %), which stays honest at 0, at 1 and for few looks.
A rule compares the lower bound with its threshold, so that noise alone makes no finding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Z = 1.96  # two-sided 95 %
STUDENT = {7: 2.365}  # the same of Student's distribution, by degrees of freedom


@dataclass(frozen=True)
class Share:
    """A share 0..1 of a whole. `looks` is the effective number of samples behind it."""

    middle: float
    low: float
    high: float
    looks: float

    def __bool__(self) -> bool:
        return self.middle > 0

    def scaled(self, low: float, high: float) -> tuple[float, float]:
        """Bounds of the part of this share that a fix wins back: `low` to `high` of it."""
        return self.low * low, self.high * high


NONE = Share(0.0, 0.0, 1.0, 0.0)


def widened(share: Share, parts: npt.NDArray[np.float64]) -> Share:
    """The share with bounds at least as wide as the same share in parts of the run tells (Student's, 95 %)."""
    count = len(parts)
    reach = STUDENT.get(count - 1, Z) * float(parts.std(ddof=1)) / math.sqrt(count)
    low, high = min(share.low, share.middle - reach), max(share.high, share.middle + reach)
    return Share(share.middle, max(low, 0.0), min(high, 1.0), share.looks)


def exact(part: float, whole: float) -> Share:
    """A share that was measured, not sampled."""
    if whole <= 0:
        return NONE
    share = min(max(part / whole, 0.0), 1.0)
    return Share(share, share, share, math.inf)


def wilson(part: float, whole: float, looks: float) -> Share:
    """Wilson's interval of part/whole seen by so many independent looks."""
    if whole <= 0 or looks <= 0:
        return NONE
    p = min(max(part / whole, 0.0), 1.0)
    z2 = Z * Z
    centre = (p + z2 / (2 * looks)) / (1 + z2 / looks)
    reach = Z * math.sqrt(p * (1 - p) / looks + z2 / (4 * looks * looks)) / (1 + z2 / looks)
    return Share(p, max(centre - reach, 0.0), min(centre + reach, 1.0), looks)
