"""An estimate and how far off it may be: what every comparison hands on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; of the ratio t_B / t_A unless said otherwise."""

    estimate: float
    low: float
    high: float

    def exp(self) -> Interval:
        return Interval(float(np.exp(self.estimate)), float(np.exp(self.low)), float(np.exp(self.high)))
