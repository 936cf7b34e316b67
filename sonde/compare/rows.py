"""Where the difference is: one row per name in each dimension, with an interval.

In: sheets of both sides. Out: `Row`s, not yet controlled for their number. Across several recordings per side the
repetitions are recordings. With one, blocks of steps tell the spread inside it, and the scatter between runs is
added: parts of a program vary more from run to run than the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sonde.compare.matching import Matching
from sonde.compare.profile import Profile
from sonde.compare.sheet import Sheet
from sonde.statistics.families import benjamini_hochberg
from sonde.statistics.groups import Welch, welch
from sonde.statistics.interval import F64
from sonde.statistics.scatter import Scatter, two_sided
from sonde.statistics.student import t_quantile

DIMENSIONS = (
    *("op", "shape", "module", "function", "line", "op line", "kernel"),
    *("state", "primitive", "memory"),
)
# Rows below this share of their sheet on both sides are noise that only dilutes the family.
LEAST_SHARE = 0.002
FALSE_DISCOVERY_RATE = 0.05
FEWEST_CALL_BLOCKS = 5  # windows with fewer say less about a noisy machine than samples of all steps
FEWEST_FOR_PRESENCE = 3  # blocks per side
ROW_SCATTER = 2.0  # times the scatter of the whole: caches and neighbours do not touch all parts alike
SAMPLES = "samples"


@dataclass(frozen=True)
class Row:
    """One name in one dimension. `low` and `high` bound the difference; infinite when not known."""

    dimension: str
    source: str
    name: str
    measure: str  # ms or bytes
    unit: str  # step or run
    a: float
    b: float
    low: float
    high: float
    p: float
    sure: bool  # survives the false-discovery control
    note: str = ""  # renamed?, fused, moved, variant

    @property
    def difference(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class Conditions:
    """What rows have to reckon with."""

    between: Scatter | None  # scatter of a whole run; None when repetitions are recordings
    disturbed: bool  # the CPU was taken away: times of calls by the wall clock tell nothing
    comparable: bool = True  # False: totals of traces without steps


def compared_rows(a: list[Profile], b: list[Profile], matching: Matching, under: Conditions) -> list[Row]:
    """All rows of all dimensions, the significant ones marked and first."""
    rows = []
    for dimension in DIMENSIONS:
        for source in _sources(dimension, a, b, under):
            left = [matching.a(p.sheets.get((dimension, source))) for p in a]
            right = [matching.b(p.sheets.get((dimension, source))) for p in b]
            rows += _compared(dimension, source, left, right, matching, under)
    return _controlled(rows)


def _sources(dimension: str, a: list[Profile], b: list[Profile], under: Conditions) -> list[str]:
    """Every source that both sides have; of calls and samples, calls where there are enough of them.

    On a busy machine both: samples tell the time, calls what is new or gone.
    """
    common = set.intersection(*({source for d, source in p.sheets if d == dimension} for p in (*a, *b)))
    if (
        len(common) > 1
        and SAMPLES in common
        and not under.disturbed
        and dimension in ("op", "module", "kernel")
    ):
        enough = all(
            p.sheets[dimension, s].values.shape[1] >= FEWEST_CALL_BLOCKS
            for p in (*a, *b)
            for s in common - {SAMPLES}
        )
        common = common - {SAMPLES} if enough else {SAMPLES}
    return sorted(common)


def _compared(
    dimension: str,
    source: str,
    a: list[Sheet | None],
    b: list[Sheet | None],
    matching: Matching,
    under: Conditions,
) -> list[Row]:
    left, right = [s for s in a if s is not None], [s for s in b if s is not None]
    if not left or not right:
        return []
    names = sorted({n for s in (*left, *right) for n in s.names})
    several = under.between is None
    matrices = [_matrix(side, names, several) for side in (left, right)]
    means = [m.mean(axis=1) for m in matrices]
    whole = max(float(m.sum()) for m in means) or 1.0
    keep = np.maximum(*means) >= LEAST_SHARE * whole
    found = welch(matrices[0], matrices[1])
    low, high, p = found.low, found.high, found.p
    sheet = left[0]
    counted = sheet.measure == "bytes" and min(m.shape[1] for m in matrices) > 1
    if under.between is not None and under.comparable and not counted:
        low, high, p = _with_scatter(left, right, names, matrices, found, under.between)
    sampled = sheet.sampling_variance is not None
    if sheet.measure == "ms" and not sampled and under.disturbed and not several:
        infinite = np.full(len(names), np.inf)
        low, high, p = -infinite, infinite, np.ones(len(names))
    if dimension == "state" and under.disturbed and not several:
        # Threads of a pool wait for the one that was preempted: as long as the machine wants.
        waits = np.array([name.endswith((" spinning", " imbalance")) for name in names], np.bool_)
        low, high, p = np.where(waits, -np.inf, low), np.where(waits, np.inf, high), np.where(waits, 1.0, p)
    if not sampled:
        low, high, p = by_presence(matrices[0], matrices[1], low, high, p)
    return [
        Row(dimension, source, names[i], sheet.measure, sheet.unit, float(means[0][i]), float(means[1][i]),
            float(low[i]), float(high[i]), float(p[i]), False, matching.note(dimension, names[i]))
        for i in np.flatnonzero(keep).tolist()
    ]  # fmt: skip


def _matrix(sheets: list[Sheet], names: list[str], across: bool) -> F64:
    """names × repetitions: the mean of each recording, or the blocks of all of them."""
    index = {name: i for i, name in enumerate(names)}
    parts = []
    for sheet in sheets:
        part = np.zeros((len(names), sheet.values.shape[1]))
        part[[index[n] for n in sheet.names]] = sheet.values
        parts.append(part.mean(axis=1, keepdims=True) if across else part)
    return np.concatenate(parts, axis=1)


def _with_scatter(
    a: list[Sheet], b: list[Sheet], names: list[str], matrices: list[F64], found: Welch, between: Scatter
) -> tuple[F64, F64, F64]:
    """The spread between blocks (or, larger, of counting samples) and the scatter between runs."""
    sizes = [m.shape[1] for m in matrices]
    inside = np.zeros(len(names))
    if min(sizes) > 1:
        inside = sum((m.var(axis=1, ddof=1) / m.shape[1] for m in matrices), inside)
    inside = np.maximum(inside, _counting_variance(a, names) + _counting_variance(b, names))
    runs = [len(a), len(b)]
    means = [m.mean(axis=1) for m in matrices]
    outside = sum((m**2 / n for m, n in zip(means, runs, strict=True)), np.zeros(len(names)))
    error = np.sqrt(inside + (ROW_SCATTER * between.deviation) ** 2 * outside)
    reach = t_quantile(0.975, between.freedom) * error
    p = [
        two_sided(d, e, between.freedom)
        for d, e in zip(found.difference.tolist(), error.tolist(), strict=True)
    ]
    return found.difference - reach, found.difference + reach, np.array(p)


def _counting_variance(sheets: list[Sheet], names: list[str]) -> F64:
    """Variance of each row's mean that the number of samples alone explains; 0 where nothing is sampled."""
    index = {name: i for i, name in enumerate(names)}
    variance = np.zeros(len(names))
    for sheet in sheets:
        if sheet.sampling_variance is not None:
            variance[[index[n] for n in sheet.names]] += sheet.sampling_variance / len(sheets) ** 2
    return variance


def by_presence(a: F64, b: F64, low: F64, high: F64, p: F64) -> tuple[F64, F64, F64]:
    """Calls are recorded, not sampled: what runs in every block of one side and never on the other is new
    or gone, however much its time varies. How much it costs stays uncertain, but not its sign."""
    if min(a.shape[1], b.shape[1]) < FEWEST_FOR_PRESENCE:
        return low, high, p
    new = (a == 0).all(axis=1) & (b > 0).all(axis=1)
    gone = (b == 0).all(axis=1) & (a > 0).all(axis=1)
    return (
        np.where(new, np.maximum(low, 0), low),
        np.where(gone, np.minimum(high, 0), high),
        np.where(new | gone, 0.0, p),
    )


def _controlled(rows: list[Row]) -> list[Row]:
    """Mark what survives, and put the largest significant changes of each dimension first."""
    if not rows:
        return []
    # A row of which nothing is known is no test.
    tested = [math.isfinite(r.low) or math.isfinite(r.high) for r in rows]
    p = np.array([r.p for r in rows])
    kept = benjamini_hochberg(p[tested], FALSE_DISCOVERY_RATE) if any(tested) else np.zeros(0, np.bool_)
    significant = np.zeros(len(rows), np.bool_)
    significant[np.flatnonzero(tested)] = kept
    marked = [replace(r, sure=bool(k)) for r, k in zip(rows, significant, strict=True)]
    order = {dimension: i for i, dimension in enumerate(DIMENSIONS)}
    return sorted(marked, key=lambda r: (order[r.dimension], not r.sure, -abs(r.difference), r.name))
