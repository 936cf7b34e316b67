"""A job of ranks, whole: who they are, what their collectives cost, who is late and why.

Enters: a function that gives tables by name. Leaves: `Job`, the one object behind `sonde show REC ranks`,
`collectives`, the insight on late ranks and the summary's first line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sonde.analyze.account.slices import sliced
from sonde.analyze.ranks.cause import Cause, approaches, cause_of
from sonde.analyze.ranks.held import QUOTA, Held, held, throttled_ns
from sonde.analyze.ranks.lateness import Lateness, lateness, spread
from sonde.analyze.ranks.messages import Messages, messages
from sonde.analyze.ranks.replay import replay
from sonde.analyze.ranks.shared import Shared, shared_calls
from sonde.analyze.recording.taken_away import pieces_of, stepping_thread
from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import StepReport, step_reports
from sonde.columns import Array, Table

GOOD_REPLAY = 0.10  # the replay without a change must come so near to the measured length

LONG_NS = 1_500_000_000  # of steps: what other programs do to one rank for so long is no chance
BUSY = 1 / 3  # of the others' ways to the collectives, in which they were ready but off the CPU

LARGEST_JOB = 1 << 20  # ranks; a damaged file may say anything


@dataclass(frozen=True)
class LateRank:
    """The rank that the others wait for."""

    rank: int
    pattern: str  # every step, some steps
    late_ns: float  # median over the late steps
    sigma_ns: float  # robust
    steps: int
    late_steps: int
    last_in: int  # collectives of those steps that it entered last
    of_calls: int
    cause: Cause
    step_ns: float  # measured, mean over the steps looked at
    without_ns: float | None  # by replay; None: the replay does not reproduce what was measured

    @property
    def sentence(self) -> str:
        """rank 1 is 30.1 ± 0.4 ms late in every step: time.sleep at train.py:41; without it a step takes …"""
        when = (
            "in every step" if self.pattern == "every step" else f"in {self.late_steps} of {self.steps} steps"
        )
        text = (
            f"rank {self.rank} is {self.late_ns / 1e6:.1f} ± {self.sigma_ns / 1e6:.1f} ms late {when}: "
            f"{self.cause.sentence}"
        )
        if self.without_ns is not None:
            text += f"; without it a step takes {_ms(self.without_ns)} instead of {_ms(self.step_ns)} ms"
        return text


def _ms(ns: float) -> str:
    value = ns / 1e6
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


class Job:
    """All facts computed once, when asked for."""

    def __init__(self, table: Callable[[str], Table]) -> None:
        self.table = table
        processes = table("processes")
        self.rank_of: dict[int, int] = {
            p: r
            for p, r, role in zip(
                processes.array("process").tolist(),
                processes.array("rank").tolist(),
                processes.text("role").tolist(),
                strict=True,
            )
            if r >= 0 and role in ("rank", "main", "imported")
        }
        self.ranks = tuple(sorted(set(self.rank_of.values())))
        told = processes.array("world_size")
        self.world_size = int(told.max(initial=-1))

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks that the size of the job promises and that are not here; a size that no job has promises nothing."""
        if self.world_size > LARGEST_JOB:
            return ()
        return tuple(sorted(set(range(max(self.world_size, 0))) - set(self.ranks)))

    @property
    def double(self) -> tuple[int, ...]:
        """Ranks that more than one process claims to be."""
        all_ranks = list(self.rank_of.values())
        return tuple(sorted({r for r in all_ranks if all_ranks.count(r) > 1}))

    @cached_property
    def shared(self) -> Shared:
        return shared_calls(self.table("collectives"), self.table("groups"), self.table("processes"))

    @cached_property
    def reports(self) -> list[StepReport]:
        return step_reports(self.table("marks"), self.table("samples"), self.table("threads"))

    @cached_property
    def held(self) -> Held:
        return held(self.shared, self.table("samples"), self.table("threads"), self.rank_of)

    @cached_property
    def lateness(self) -> Lateness:
        found = lateness(
            self.shared, self.held, self.table("collectives"), self.table("marks"), self.reports, self.rank_of
        )

        return replace(found, late_rank=-1, pattern="random") if self._is_chance(found) else found

    def _is_chance(self, found: Lateness) -> bool:
        """Is the rank that seems late just the one whose CPU had more to do? They even out over seconds."""
        if found.late_rank < 0 or float(found.step_ns.sum()) >= LONG_NS:
            return False
        row = found.ranks.index(found.late_rank)
        calls = np.flatnonzero((self.shared.last == row) & (found.step_of_call >= 0))
        shares = [
            float(pieces_of(self.table("samples"), thread).within(way.starts, way.ends).sum()) / way.total_ns
            for other, thread in self.threads.items()
            if other != row and (way := approaches(self.shared, other, calls)).total_ns > 0
        ]
        return bool(shares) and float(np.median(shares)) >= BUSY

    @cached_property
    def messages(self) -> Messages:
        mine = [r for r in self.reports if r.process in self.rank_of]
        return messages(
            self.table("collectives"), self.table("marks"), mine, self.rank_of, self.lateness.steps
        )

    @cached_property
    def threads(self) -> dict[int, int]:
        """Row in `shared.ranks` → the thread that makes the steps of that rank."""
        place = {r: i for i, r in enumerate(self.shared.ranks)}
        found = {}
        for process, rank in self.rank_of.items():
            thread = stepping_thread(self.table("marks"), self.table("threads"), process)
            if rank in place and thread >= 0:
                found[place[rank]] = thread
        return found

    @cached_property
    def late(self) -> LateRank | None:
        """The rank that is late again and again; None when there is none."""
        found = self.lateness
        if found.late_rank < 0:
            return None
        row = found.ranks.index(found.late_rank)
        heavy = np.flatnonzero(found.late_steps & (found.late_ns.argmax(axis=0) == row))
        calls = np.flatnonzero((self.shared.last == row) & np.isin(found.step_of_call, heavy))
        middle, sigma = spread(found.late_ns[row, heavy])
        step_ns, without_ns = self._without(row)
        samples, threads = self.table("samples"), self.table("threads")
        index = StackIndex(self.table("frames"), self.table("stacks"))
        judged = sliced(index, samples, self.threads.get(row, -1))
        units = max(len(heavy), 1)
        late_ns = float(found.late_ns[row, heavy].mean())
        in_transfers = self.held.taken_ns[:, np.isin(found.step_of_call, heavy)].sum(axis=1) / units
        cause = cause_of(
            self.shared, row, calls, units, samples, threads, judged, self.threads, late_ns, in_transfers
        )
        if cause.kind == "taken" and self._stood_still_ns(row) >= QUOTA * late_ns * units:
            cause = replace(cause, kind="quota")
        return LateRank(
            found.late_rank,
            found.pattern,
            middle,
            sigma,
            len(found.steps),
            len(heavy),
            len(calls),
            int(np.isin(found.step_of_call, heavy).sum()),
            cause,
            step_ns,
            without_ns,
        )

    def _stood_still_ns(self, row: int) -> float:
        """By how much longer the quota of this rank's control group stopped it than the others theirs."""
        own = {
            self.shared.ranks.index(rank): throttled_ns(self.table("marks"), process)
            for process, rank in self.rank_of.items()
            if rank in self.shared.ranks
        }
        return own.get(row, 0.0) - float(np.median([ns for at, ns in own.items() if at != row] or [0.0]))

    def _without(self, row: int) -> tuple[float, float | None]:
        """Mean step as measured, and by replay with this rank never later than the median of the others."""
        found, shared = self.lateness, self.shared
        mean = float(found.step_ns.mean()) if len(found.steps) else 0.0
        shorter = np.zeros(shared.queued.shape)
        last = np.flatnonzero(shared.last == row)
        shorter[row, last] = np.maximum(shared.lead_ns[last], 0)
        transfer = np.where(self.held.row == row, self.held.ns, 0.0)
        total = before = after = 0.0
        covered: list[float] = []
        for calls in _stretches(found.step_of_call):
            one = replay(shared, shorter, transfer, calls)
            total += one.measured_ns
            before += one.unchanged_ns
            after += one.changed_ns
            lengths = found.step_ns[np.unique(found.step_of_call[calls])]
            # The replay begins with the first call: the first step counts if most of it comes after that.
            skip = int(one.measured_ns - float(lengths[1:].sum()) < lengths[0] / 2)
            covered += lengths[skip:].tolist()
        if not covered or abs(before - total) > GOOD_REPLAY * total:
            return mean, None
        mean = float(np.mean(covered))
        return mean, max(mean - (before - after) / len(covered), 0.0)


def _stretches(step_of_call: Array) -> list[Array]:
    """Runs of calls that are in the steps looked at, without a call of another step between them."""
    inside = np.flatnonzero(step_of_call >= 0)
    if not len(inside):
        return []
    cuts = np.flatnonzero(np.diff(inside) > 1) + 1
    return [run for run in np.split(inside, cuts) if len(run) > 1]
