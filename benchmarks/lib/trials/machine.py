"""A made-up machine that misbehaves as shared ones do: correlated noise, drift, shifts and spikes.

Launches come one after the other on its clock, so a design that runs all of A before B meets other conditions
for each. The parameters are those under which designs were compared before (docs/explanation.md).
"""

from __future__ import annotations

import numpy as np

HORIZON = 200  # launches over which the drift unfolds
CORRELATION, SIGMA = 0.7, 0.01
DRIFT_SIGMA, SHIFT_CHANCE, SHIFT = 0.03, 0.25, 0.10
SPIKE_CHANCE, SPIKE_MEAN = 0.05, 0.10


class Machine:
    """Equal seeds give equal machines."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.launches = 0
        self._noise = self.rng.normal(0, SIGMA)
        # Whatever a design needs in launches, its experiment sees one drift and at most one shift.
        self._drift = self.rng.normal(0, DRIFT_SIGMA) / 40
        self._shift_at = int(self.rng.integers(0, 40)) if self.rng.random() < SHIFT_CHANCE else -1

    def launch(self, effect: float) -> float:
        """Time of one launch of a program that is slower by `effect`."""
        self._noise = CORRELATION * self._noise + self.rng.normal(0, SIGMA * np.sqrt(1 - CORRELATION**2))
        level = self._noise + self._drift * min(self.launches, HORIZON)
        if 0 <= self._shift_at <= self.launches:
            level += SHIFT
        if self.rng.random() < SPIKE_CHANCE:
            level += self.rng.exponential(SPIKE_MEAN)
        self.launches += 1
        return float(100 * np.exp(level) * (1 + effect))
