"""How the report writes numbers (web/src/calc/format.ts), to hold what it draws against the answers."""

from __future__ import annotations

import math

TIMES = ((60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = max(0, min(6, 2 - math.floor(math.log10(abs(value)))))
    text = f"{value:.{decimals}f}"
    return f"{float(text):,.0f}" if abs(value) >= 10000 else text


def page_time(ns: float) -> str:
    if ns == 0:
        return "0"
    scale, unit = next(((s, u) for s, u in TIMES if abs(ns) >= s), TIMES[-1])
    return f"{digits(ns / scale)} {unit}"


def page_percent(share: float) -> str:
    value = share * 100
    if value == 0:
        return "0 %"
    if abs(value) < 0.1:
        return "< 0.1 %"
    return f"{value:.{1 if abs(value) < 10 else 0}f} %"


def page_count(value: float) -> str:
    return f"{round(value):,}"
