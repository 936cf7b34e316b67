"""Many tests at once: which of them may be called significant."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sonde.statistics.interval import F64


def benjamini_hochberg(p_values: F64, rate: float = 0.05) -> npt.NDArray[np.bool_]:
    """Which of many hypotheses to reject so that at most `rate` of the rejected are wrong on average."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    passes = p[order] <= rate * np.arange(1, len(p) + 1) / len(p)
    keep = np.zeros(len(p), np.bool_)
    if passes.any():
        keep[order[: np.flatnonzero(passes)[-1] + 1]] = True
    return keep
