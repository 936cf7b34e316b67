"""What changed between two sides: a verdict on step time, then where the difference is, row by row.

In: one or several recordings per side. Out: `Difference`. With several recordings on both sides the
repetitions are recordings, and intervals cover what differs from run to run. With one, they are blocks
of consecutive steps inside it: such an interval does not cover run-to-run differences, and says so. Rows
of all dimensions are one family of tests; Benjamini–Hochberg keeps false discoveries among them to 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt

import numpy as np

from sonde.analyze.compare import Profile, fused_in, has_steps, profile
from sonde.analyze.compare_fusion import contained_in
from sonde.analyze.compare_paths import program_root
from sonde.analyze.compare_sheet import Sheet
from sonde.experiment.matching import Matching, match
from sonde.experiment.statistics import F64, Interval, benjamini_hochberg, welch
from sonde.experiment.verdict import SMALLEST_CLAIM
from sonde.store.recording import Recording

DIMENSIONS = (
    "op",
    "shape",
    "module",
    "function",
    "line",
    "op line",
    "kernel",
    "state",
    "primitive",
    "memory",
)
SAME_WITHIN = 0.03  # an interval inside this is called the same, with its true reach told
LEAST_SHARE = (
    0.002  # rows below this share of their sheet on both sides are noise that only dilutes the family
)
FALSE_DISCOVERY_RATE = 0.05
# Runs of one program differ by some percent as a whole; one recording per side cannot tell that from a change.
SINGLE_CLAIM = 0.05
FEWEST_CALL_BLOCKS = 5  # windows with fewer say less about a noisy machine than samples of all steps
FEWEST_FOR_PRESENCE = 3  # blocks per side
BLOCK_MEDIANS = 10  # steps of one recording, as repetitions of the verdict


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
    note: str = ""  # renamed?, fused, moved

    @property
    def difference(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class Difference:
    """`word`: faster, slower, same or inconclusive (B against A), by step time or else run time."""

    word: str
    ratio: Interval
    a_ms: float
    b_ms: float
    unit: str  # step or run
    detectable: float  # the smallest relative difference that would have been seen; infinite when unknown
    repetitions: str  # recordings, blocks of steps, or nothing
    counts: tuple[int, int]  # repetitions per side
    rows: list[Row]
    reason: str
    stepless: str  # sides without steps: A, B or both; empty when steps are compared


def difference(a: Sequence[Recording], b: Sequence[Recording]) -> Difference:
    """Compare two sides of recordings that are alike (see `likeness`)."""
    wanted = contained_in(ops for recording in (*a, *b) for ops in fused_in(recording.table).values())
    stepless = [n for n, side in (("A", a), ("B", b)) if not all(has_steps(r.table) for r in side)]
    by_step = not stepless
    sides = [[_profile(r, wanted, by_step) for r in side] for side in (a, b)]
    matching = match(sides[0], sides[1])
    rows = _controlled(_rows(sides[0], sides[1], matching))
    unit = "step" if by_step else "run"
    values = [_repetitions(side, unit, len(a) > 1 and len(b) > 1) for side in sides]
    kind = "recordings" if len(a) > 1 and len(b) > 1 else "blocks of steps" if unit == "step" else "nothing"
    return replace(_judged(values[0], values[1], unit, kind, rows), stepless=" and ".join(stepless))


def _profile(recording: Recording, wanted: frozenset[str], by_step: bool) -> Profile:
    meta = recording.meta
    return profile(recording.table, wanted, program_root(meta.command, meta.directory), by_step)


def _repetitions(side: list[Profile], unit: str, across: bool) -> F64:
    """Log times: one per recording, or one per block of steps of the only recording."""
    if across or unit == "run":
        return np.log([float(np.median(p.step_ms)) if unit == "step" else max(p.run_ms, 1e-6) for p in side])
    # Sides of one and several: the several are one long series.
    steps = np.concatenate([p.step_ms for p in side])
    blocks = np.array_split(steps, min(BLOCK_MEDIANS, max(2, len(steps) // 3)))
    return np.log([max(float(np.median(block)), 1e-9) for block in blocks if len(block)])


def _judged(a: F64, b: F64, unit: str, kind: str, rows: list[Row]) -> Difference:
    found = welch(a[None, :], b[None, :])
    ratio = Interval(float(found.difference[0]), float(found.low[0]), float(found.high[0]))
    claim = SMALLEST_CLAIM if kind == "recordings" else SINGLE_CLAIM
    edge, detectable = float(np.log1p(claim)), max(float(np.expm1(found.detectable[0])), claim)
    reach = max(abs(ratio.low), abs(ratio.high))
    if ratio.high < 0 and ratio.estimate < -edge:
        word, reason = "faster", "the interval lies below 1"
    elif ratio.low > 0 and ratio.estimate > edge:
        word, reason = "slower", "the interval lies above 1"
    elif reach <= np.log1p(SAME_WITHIN):
        word, reason = "same", f"any difference is below {np.expm1(reach):.1%}"
    elif np.isfinite(reach) and (ratio.low > 0 or ratio.high < 0):
        word = "inconclusive"
        teller = "any machine" if claim == SMALLEST_CLAIM else "one recording per side"
        reason = f"the difference is below the {claim:.0%} that {teller} can tell"
    elif not np.isfinite(reach):
        word, reason = "inconclusive", "one run per side and no steps: record several runs of each"
    else:
        word, reason = "inconclusive", f"only differences above {detectable:.1%} would have been seen"
    return Difference(
        word, ratio.exp(), float(np.exp(a.mean())), float(np.exp(b.mean())), unit, detectable,
        kind, (len(a), len(b)), rows, reason, "",
    )  # fmt: skip


def _rows(a: list[Profile], b: list[Profile], matching: Matching) -> list[Row]:
    rows = []
    for dimension in DIMENSIONS:
        for source in _sources(dimension, a, b):
            left = [matching.a(p.sheets.get((dimension, source))) for p in a]
            right = [matching.b(p.sheets.get((dimension, source))) for p in b]
            rows += _compared(dimension, source, left, right, matching)
    return rows


def _sources(dimension: str, a: list[Profile], b: list[Profile]) -> list[str]:
    """Every source that both sides have; of calls and samples, calls where there are enough of them."""
    common = set.intersection(*({source for d, source in p.sheets if d == dimension} for p in (*a, *b)))
    if len(common) > 1 and "samples" in common and dimension in ("op", "module", "kernel"):
        enough = all(
            p.sheets[dimension, s].values.shape[1] >= FEWEST_CALL_BLOCKS
            for p in (*a, *b)
            for s in common - {"samples"}
        )
        common = common - {"samples"} if enough else {"samples"}
    return sorted(common)


def _compared(
    dimension: str, source: str, a: list[Sheet | None], b: list[Sheet | None], matching: Matching
) -> list[Row]:
    left, right = [s for s in a if s is not None], [s for s in b if s is not None]
    if not left or not right:
        return []
    names = sorted({n for s in (*left, *right) for n in s.names})
    matrices = [_matrix(side, names, len(left) > 1 and len(right) > 1) for side in (left, right)]
    means = [m.mean(axis=1) for m in matrices]
    whole = max(float(m.sum()) for m in means) or 1.0
    keep = np.maximum(*means) >= LEAST_SHARE * whole
    found = welch(matrices[0], matrices[1])
    low, high, p = found.low, found.high, found.p
    if matrices[0].shape[1] < 2 or matrices[1].shape[1] < 2:
        low, high, p = _by_counting(left, right, names, found.difference, low, high, p)
    sheet = left[0]
    if sheet.sampling_variance is None:
        low, high, p = _by_presence(matrices[0], matrices[1], low, high, p)
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


def _by_presence(a: F64, b: F64, low: F64, high: F64, p: F64) -> tuple[F64, F64, F64]:
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


def _by_counting(
    a: list[Sheet], b: list[Sheet], names: list[str], difference: F64, low: F64, high: F64, p: F64
) -> tuple[F64, F64, F64]:
    """Without repetitions, samples still have the error of counting; other values have no interval."""
    if any(s.sampling_variance is None for s in (*a, *b)):
        return low, high, p
    variance = np.zeros(len(names))
    for side in (a, b):
        for sheet in side:
            where = [names.index(n) for n in sheet.names]
            assert sheet.sampling_variance is not None
            variance[where] += sheet.sampling_variance / len(side) ** 2
    error = np.sqrt(variance)
    chance = [
        erfc(abs(d) / e / sqrt(2)) if e > 0 else 1.0
        for d, e in zip(difference.tolist(), error.tolist(), strict=True)
    ]
    return difference - 1.96 * error, difference + 1.96 * error, np.array(chance)


def _controlled(rows: list[Row]) -> list[Row]:
    """Mark what survives, and put the largest sure changes of each dimension first."""
    if not rows:
        return []
    kept = benjamini_hochberg(np.array([r.p for r in rows]), FALSE_DISCOVERY_RATE)
    marked = [replace(r, sure=bool(k)) for r, k in zip(rows, kept, strict=True)]
    order = {dimension: i for i, dimension in enumerate(DIMENSIONS)}
    return sorted(marked, key=lambda r: (order[r.dimension], not r.sure, -abs(r.difference), r.name))
