"""Is B slower or faster than A? One word with an interval, or that these recordings cannot tell.

In: the pace of every recording of both sides, and of earlier recordings like those of a side. Out: `Judgement`.
    Several recordings on both sides: Welch's interval across recordings.
    One on a side: the interval inside each recording and the scatter between runs of one program (`scatter`).
Where the machine took the CPU away for a share that matters, the clock on the wall is not asked. Where it
did not, one recording per side has to agree with the work that it did: a change that only the clock shows may be
a neighbour's. Time in page faults is left out where it differs: with one run each that is chance (`faults`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.compare.faults import ns_each
from sonde.compare.pace import Pace
from sonde.statistics.groups import welch
from sonde.statistics.interval import F64, Interval
from sonde.statistics.scatter import Scatter, runs_needed, scatter, single_runs
from sonde.statistics.student import t_quantile
from sonde.statistics.verdict import SMALLEST_CLAIM

MOST_TAKEN = 0.03  # of the wall time; above it wall time says how busy the machine was
SAME_WITHIN = 0.03  # an interval inside this is called the same, with its true reach told
SINGLE_CLAIM = 0.05  # the smallest difference that one recording per side may claim
LEAST_FAULT_DIFFERENCE = 0.02  # of the time
FAULT_DOUBT = 0.25  # of the time that was left out: what a fault costs is not exactly known
# Others empty the caches and share the core: the CPU time of equal work was longer by 0.1 to 0.5 of the share that they
# took. One run each cannot tell that from a slower program, where they took more from one than from the other.
CROWD_DOUBT = 0.25
WALL, OWN = "wall", "own"


@dataclass(frozen=True)
class Judgement:
    """`word`: faster, slower, same or inconclusive (B against A)."""

    word: str
    ratio: Interval  # t_B / t_A
    a_ms: float
    b_ms: float
    measure: str  # wall, or own: CPU time and waits of the main thread
    detectable: float  # the smallest relative difference that would have been seen; infinite when unknown
    repetitions: str  # recordings, or one run each
    counts: tuple[int, int]
    reason: str
    scatter: Scatter | None  # None: measured across the recordings themselves
    wall_ratio: float
    taken: tuple[float, float]  # share of the main thread's time that the machine took away
    faults: tuple[float, float] | None  # page faults per step, where their time was left out
    more_runs: int  # recordings per side that would probably tell; 0 when it is told


def judged(
    a: list[Pace], b: list[Pace], earlier: Sequence[Sequence[Pace]] = (), arbitrary: bool = False
) -> Judgement:
    """`earlier`: groups of paces like those of A and like those of B. `arbitrary`: how long these recordings last
    says nothing about speed (a trace that names no steps)."""
    taken = (max(p.taken for p in a), max(p.taken for p in b))
    known = all(len(p.own_ms) for p in (*a, *b))
    measure = OWN if known and max(taken) > MOST_TAKEN else WALL
    several = len(a) > 1 and len(b) > 1
    fault_ns = 0.0 if several else _fault_ns(a, b)
    logs = [_logs(side, measure, fault_ns) for side in (a, b)]
    between = None if several else _between(a, b, earlier, measure, fault_ns)
    interval, detectable = (
        _across(*logs) if between is None else _single(a, b, measure, known, between, fault_ns)
    )
    if arbitrary and not several:
        infinite = float("inf")
        interval, detectable = Interval(interval.estimate, -infinite, infinite), infinite
    claim = SMALLEST_CLAIM if several else SINGLE_CLAIM
    word, reason = _word(interval, claim, max(detectable, claim), several, arbitrary)
    told = word != "inconclusive" or arbitrary
    more = 0 if told else runs_needed(interval.estimate, between or scatter([x.tolist() for x in logs]))
    wall = float(np.exp(_logs(b, WALL).mean() - _logs(a, WALL).mean()))
    return Judgement(
        word, interval.exp(), float(np.exp(logs[0].mean())), float(np.exp(logs[1].mean())), measure,
        max(detectable, claim), "recordings" if several else "one run each", (len(a), len(b)), reason, between,
        wall, taken, (_faults(a), _faults(b)) if fault_ns else None, more,
    )  # fmt: skip


def _logs(side: Sequence[Pace], measure: str, fault_ns: float = 0.0) -> F64:
    times = [(p.own if measure == OWN else p.wall) for p in side]
    left_out = [p.faults.ms(fault_ns) for p in side]
    # Never below half: then the counters and the steps do not speak of the same thing.
    return np.log([max(t - x, t / 2) for t, x in zip(times, left_out, strict=True)])


def _faults(side: list[Pace]) -> float:
    return float(np.mean([p.faults.count for p in side]))


def _fault_ns(a: list[Pace], b: list[Pace]) -> float:
    """What a page fault costs, where the two sides differ by more than a trifle in them; else 0."""
    cost = ns_each([p.faults for p in (*a, *b)])
    return cost if _fault_difference(a, b, cost) > LEAST_FAULT_DIFFERENCE else 0.0


def _fault_difference(a: list[Pace], b: list[Pace], fault_ns: float) -> float:
    """By how much the share of time in page faults differs."""
    shares = [np.mean([p.faults.ms(fault_ns) / p.own for p in side]) for side in (a, b)]
    return float(abs(shares[1] - shares[0]))


def _between(
    a: list[Pace], b: list[Pace], earlier: Sequence[Sequence[Pace]], measure: str, fault_ns: float
) -> Scatter:
    alike = [*earlier, [], []]
    return scatter([_logs([*side, *alike[i]], measure, fault_ns).tolist() for i, side in enumerate((a, b))])


def _across(a: F64, b: F64) -> tuple[Interval, float]:
    found = welch(a[None, :], b[None, :])
    interval = Interval(float(found.difference[0]), float(found.low[0]), float(found.high[0]))
    return interval, float(np.expm1(found.detectable[0]))


def _single(
    a: list[Pace], b: list[Pace], measure: str, known: bool, between: Scatter, fault_ns: float
) -> tuple[Interval, float]:
    runs = (len(a), len(b))
    doubt = FAULT_DOUBT * _fault_difference(a, b, fault_ns) if fault_ns else 0.0
    doubt = float(np.hypot(doubt, CROWD_DOUBT * (max(p.taken for p in a) - max(p.taken for p in b))))
    found = []
    for clock in {measure, OWN} if known else {measure}:
        errors = [_error(side, clock) for side in (a, b)]
        ratio = float(_logs(b, clock, fault_ns).mean() - _logs(a, clock, fault_ns).mean())
        found.append(
            (clock, single_runs(ratio, (errors[0], float(np.hypot(errors[1], doubt))), between, runs))
        )
    estimate = next(i.estimate for clock, i in found if clock == measure)
    low, high = min(i.low for _, i in found), max(i.high for _, i in found)
    half = max(estimate - low, high - estimate)
    power = t_quantile(0.8, between.freedom) / t_quantile(0.975, between.freedom)
    return Interval(estimate, low, high), float(np.expm1(half * (1 + power)))


def _error(side: list[Pace], clock: str) -> float:
    errors = [p.own_error if clock == OWN else p.wall_error for p in side]
    return float(np.mean(errors) / np.sqrt(len(side)))


def _word(
    ratio: Interval, claim: float, detectable: float, several: bool, arbitrary: bool
) -> tuple[str, str]:
    edge, reach = float(np.log1p(claim)), max(abs(ratio.low), abs(ratio.high))
    if arbitrary and not several:
        return "inconclusive", "the traces name no steps, and how long a trace lasts says nothing about speed"
    if ratio.high < 0 and ratio.estimate < -edge:
        return "faster", "the interval lies below 1"
    if ratio.low > 0 and ratio.estimate > edge:
        return "slower", "the interval lies above 1"
    if reach <= np.log1p(SAME_WITHIN):
        return "same", f"any difference is below {np.expm1(reach):.1%}"
    if ratio.low > 0 or ratio.high < 0:
        return "inconclusive", f"the difference is below the {claim:.0%} that these recordings can tell"
    return "inconclusive", f"only differences above {detectable:.0%} would have been seen"
