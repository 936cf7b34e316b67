"""Who comes late to collectives, in which steps, and whether it is always the same rank.

Enters: `Shared` and the steps of all ranks. Leaves: `Lateness`. In a step, a rank is late by the sum over the
collectives that it entered last of (its moment − median moment of the others), and over those whose transfer it held
up (`sonde.analyze.ranks.held`). A step counts as late when that is at least a twentieth of the mean step for some rank,
and no trifle beside what the worst is late. A rank is named when, of the late steps, it has at least two thirds, more
than chance would give it (binomial, 1 %), and its lateness is at least 5 % of all steps together and well above that of
the others; otherwise lateness of 5 % or more is random: the late rank changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sonde.analyze.ranks.held import Held
from sonde.analyze.ranks.shared import Shared
from sonde.analyze.steps.program import StepReport
from sonde.columns import Array, Table

MIN_SHARE = 0.05  # of the steps, below which lateness is not worth a word
MOSTLY = 2 / 3
RATHER = 1 / 4  # of what the worst is late in its latest steps: less than that is jitter
VERY = 5.0  # short steps: so late is no rank by jitter
CHANCE = 0.01
BEYOND = 3.0  # times what the others cause: a busy machine makes every rank late, and never all alike
FEWEST = 5  # late steps; with fewer nothing is told from chance
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Lateness:
    """Steps that every rank made, none of them in warm-up or in a profiling window. Arrays are (ranks × steps)."""

    ranks: tuple[int, ...]
    steps: Array  # their numbers
    step_ns: Array  # median over ranks of the step's length
    late_ns: Array
    waiting_ns: Array
    step_of_call: Array  # place in `steps` of each shared call, -1 when in none of them
    late_rank: int  # the rank that is named; -1: none
    pattern: str  # "every step", "some steps", "random" or "" (even)
    late_steps: Array  # of them those in which somebody is late


def lateness(
    shared: Shared,
    held_up: Held,
    calls: Table,
    marks: Table,
    reports: list[StepReport],
    rank_of: dict[int, int],
) -> Lateness:
    """`rank_of`: process → rank; `reports`: the steps of all processes."""
    mine = {rank_of[r.process]: r for r in reports if rank_of.get(r.process, -1) in shared.ranks}
    numbers = (
        _common_steps([mine[r] for r in shared.ranks if r in mine]) if len(mine) == len(shared.ranks) else []
    )
    steps = np.array(numbers, np.int64)
    at = {n: i for i, n in enumerate(numbers)}
    count = len(steps)
    number_of_mark = dict(zip(marks.array("mark").tolist(), marks.array("number").tolist(), strict=True))
    first_row = (
        np.where(shared.row >= 0, shared.row, np.iinfo(np.int64).max).min(axis=0)
        if len(shared)
        else np.zeros(0, np.int64)
    )
    marked = calls.array("step")[first_row] if len(shared) else np.zeros(0, np.int64)
    step_of_call = np.array([at.get(number_of_mark.get(m, -1), -1) for m in marked.tolist()], np.int64)
    late, waiting = np.zeros((len(shared.ranks), count)), np.zeros((len(shared.ranks), count))
    inside = np.flatnonzero(step_of_call >= 0)
    lead, last, waits = shared.lead_ns, shared.last, shared.waiting_ns
    np.add.at(late, (last[inside], step_of_call[inside]), np.maximum(lead[inside], 0))
    np.add.at(late, (held_up.row[inside], step_of_call[inside]), held_up.ns[inside])
    for row in range(len(shared.ranks)):
        waiting[row] = np.bincount(step_of_call[inside], waits[row, inside], count)[:count]
    lengths = np.array(
        [[s.duration_ns for s in mine[r].steps if s.index in at] for r in shared.ranks if r in mine and count]
    )
    step_ns = np.median(lengths, axis=0) if count else np.zeros(0)
    rank, pattern, heavy = _judge(shared.ranks, late, step_ns)
    return Lateness(shared.ranks, steps, step_ns, late, waiting, step_of_call, rank, pattern, heavy)


def _common_steps(reports: list[StepReport]) -> list[int]:
    """Numbers of the steps that are steady on every rank."""
    if not reports:
        return []
    found = set.intersection(*({s.index for s in r.steady if not s.in_window} for r in reports))
    return sorted(found)


def _judge(ranks: tuple[int, ...], late: Array, step_ns: Array) -> tuple[int, str, Array]:
    """The rank that is named, the pattern, and which steps are late."""
    none = np.zeros(late.shape[1], np.bool_)
    if len(ranks) < 2 or late.shape[1] < FEWEST:
        return -1, "", none
    whole, caused, worst = float(step_ns.sum()), late.sum(axis=1), late.max(axis=0)
    least = MIN_SHARE * float(step_ns.mean())
    heavy = worst >= least
    if late.sum() < MIN_SHARE * whole or heavy.sum() < FEWEST:
        return -1, "", heavy
    best = int(np.argmax(caused))
    # A CPU quota makes few steps very late: beside them the jitter of the others is no lateness. What a busy machine
    # does to a rank for a while is less than that.
    latest, short = float(np.sort(late[best])[-FEWEST]), float(np.quantile(step_ns, 0.25))
    for bar in (least, max(RATHER * latest, least)) if latest >= VERY * short else (least,):
        above = worst >= bar
        times = int((late.argmax(axis=0)[above] == best).sum())
        if (
            times >= MOSTLY * above.sum()
            and _binomial_tail(times, int(above.sum()), 1 / len(ranks)) < CHANCE
            and caused[best] >= MIN_SHARE * whole
            and caused[best] >= BEYOND * float(np.median(np.delete(caused, best)))
        ):
            share = float((late[best] >= bar).mean())
            return ranks[best], "every step" if share >= 0.9 else "some steps", above
    return -1, "random", heavy


def _binomial_tail(times: int, of: int, chance: float) -> float:
    """Probability of at least so many, were every rank alike."""
    logs = [
        math.lgamma(of + 1)
        - math.lgamma(k + 1)
        - math.lgamma(of - k + 1)
        + k * math.log(chance)
        + (of - k) * math.log1p(-chance)
        for k in range(times, of + 1)
    ]
    return float(np.exp(logs).sum())


def _middle(values: Array) -> float:
    return float(np.median(values)) if len(values) else 0.0


def spread(values: Array) -> tuple[float, float]:
    """Median and robust sigma."""
    middle = _middle(values)
    return middle, MAD_TO_SIGMA * _middle(np.abs(values - middle))
