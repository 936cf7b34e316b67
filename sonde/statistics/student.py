"""Student's distribution without SciPy: tail probabilities and quantiles."""

from __future__ import annotations

import math
from functools import lru_cache


def t_two_sided(t: float, freedom: float) -> float:
    """Chance of |T| >= t under Student's distribution."""
    if not math.isfinite(t):
        return 0.0 if t > 0 else 1.0
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: int) -> float:
    """The value below which `share` (above a half) of Student's distribution lies."""
    low, high = 0.0, 2.0
    while 1 - t_two_sided(high, freedom) / 2 < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if 1 - t_two_sided(middle, freedom) / 2 < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below
        return 1.0 - incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / ((1 + numerator * d) or tiny)
            c = (1 + numerator / c) or tiny
            result *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return math.exp(log_front) / a * result
