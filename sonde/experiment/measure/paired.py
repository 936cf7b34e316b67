"""Compare two arms by pairs of launches in random order, at planned looks, and say what is known.

First the noise floor by A against A, then B against A. A pair is discarded only by
rules fixed beforehand (the machine throttled it, the hypervisor stole it), never
by its result, and the number discarded is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sonde.errors import InputError
from sonde.experiment.design.arm import Arm, Measure, Measurement, Pair, TakesTurns
from sonde.experiment.design.schedule import pair_orders
from sonde.experiment.measure.results import agree
from sonde.experiment.proving.journal import Entry, Journal
from sonde.statistics.verdict import LOOKS, SMALLEST_CLAIM, Verdict, judge, noise_floor_of

FLOOR_PAIRS = 6  # A/A pairs
MAX_DISCARDED_SHARE = 0.5  # of pairs tried; beyond that the machine is no place to measure


class ArmFailed(InputError):
    """A launch of an arm ended with an error."""

    def __init__(self, arm: Arm, measurement: Measurement) -> None:
        how = (
            f"was killed by signal {-measurement.exit_code}"
            if measurement.exit_code < 0
            else f"ended with exit code {measurement.exit_code}"
        )
        said = f": {measurement.result}" if measurement.result else ""
        super().__init__(
            f"{arm.name}: the program {how}{said}", "run it by itself to see why: " + " ".join(arm.words())
        )
        self.arm = arm


@dataclass(frozen=True)
class Progress:
    """What a progress line shows."""

    comparison: str
    pairs_done: int
    pairs_planned: int
    ratio: float | None  # so far
    seconds_left: float | None = None  # of this comparison, if it goes on to `pairs_planned`


@dataclass(frozen=True)
class Comparison:
    """The outcome of one comparison."""

    verdict: Verdict
    a_ms: float  # median of the arm's launches
    b_ms: float
    discarded: int
    same_result: bool  # what both arms printed is equal
    unit: str = "step"  # step, or launch where the program has no steps: start-up is then included
    ratios: tuple[float, ...] = ()  # t_B / t_A of every pair
    results: tuple[str, str] = ("", "")  # what A and B printed, of the first pair that disagrees
    discard_reasons: tuple[str, ...] = ()
    in_turns: bool = False  # every pair took turns


@dataclass
class _Found:
    pairs: list[Pair] = field(default_factory=list)
    discarded: list[str] = field(default_factory=list)


class Paired:
    """Runs comparisons on one journal, so that what was measured is never measured again."""

    def __init__(
        self,
        measure: Measure,
        journal: Journal | None = None,
        seed: int = 0,
        report: Callable[[Progress], None] = lambda progress: None,
        out_of_time: Callable[[], bool] = lambda: False,
        seconds_left: Callable[[], float] = lambda: float("inf"),
    ) -> None:
        self.measure = measure
        self.journal = journal or Journal()
        self.seed = seed
        self.report = report
        self.out_of_time = out_of_time
        self.seconds_left = seconds_left
        self.loads = False  # some launch drew batches from a DataLoader
        self.threads: dict[str, int] = {}  # arm's key → threads that torch computed with there
        self._seconds: list[float] = []  # of pairs measured now, not read from the journal

    def short_of(self, pairs: int) -> bool:
        """Whether the budget no longer holds that many pairs, by how long the latest took."""
        recent = self._seconds[-4:]
        return bool(recent) and self.seconds_left() < pairs * float(np.mean(recent))

    def noise_floor(self, arm: Arm, pairs: int = FLOOR_PAIRS) -> float:
        """Half-width of the interval of A against A, as a relative difference."""
        found = self._pairs(f"noise of {arm.name}", arm, arm, pairs)
        return max(noise_floor_of(_log_ratios(found.pairs)), SMALLEST_CLAIM)

    def compare(
        self, a: Arm, b: Arm, floor: float = SMALLEST_CLAIM, looks: tuple[int, ...] = LOOKS, label: str = ""
    ) -> Comparison:
        """B against A; stops at the first planned look that knows the answer."""
        name = label or f"{b.name} against {a.name}"
        for look in looks:
            found = self._pairs(name, a, b, look)
            verdict = judge(_log_ratios(found.pairs), floor)
            if verdict.word != "inconclusive" or self.out_of_time():
                break
        pairs = found.pairs
        unlike = [(x.result, y.result) for x, y in pairs if not agree(x.result, y.result)]
        return Comparison(
            verdict=verdict,
            a_ms=float(np.median([m.value_ms for m, _ in pairs])),
            b_ms=float(np.median([m.value_ms for _, m in pairs])),
            discarded=len(found.discarded),
            same_result=not unlike,
            unit=_unit(a, b, pairs),
            ratios=tuple(y.value_ms / x.value_ms for x, y in pairs),
            results=unlike[0] if unlike else (pairs[0][0].result, pairs[0][1].result),
            discard_reasons=tuple(dict.fromkeys(found.discarded)),
            in_turns=all(x.in_turns and y.in_turns for x, y in pairs),
        )

    def _pairs(self, name: str, a: Arm, b: Arm, wanted: int) -> _Found:
        """The first `wanted` undisturbed pairs, measuring those the journal does not have."""
        found = _Found()
        for number, order in enumerate(pair_orders(self.seed)):
            if len(found.pairs) >= wanted:
                break
            # What the journal has costs no time.
            if found.pairs and self.out_of_time() and not self._known(name, number, a, b):
                break
            pair = self._one(name, number, order, a, b)
            self.loads = self.loads or pair[0].loads or pair[1].loads
            self.threads |= {a.key: pair[0].threads, b.key: pair[1].threads}
            why = pair[0].disturbed or pair[1].disturbed
            if why:
                found.discarded.append(why)
                lost = len(found.discarded)
                if lost > 4 and lost > MAX_DISCARDED_SHARE * (number + 1):
                    raise InputError(
                        f"{lost} of {number + 1} pairs were disturbed ({why})",
                        "measure on a quieter machine, or give the container a larger CPU quota",
                    )
                continue
            found.pairs.append(pair)
            ratio = float(np.exp(np.median(_log_ratios(found.pairs))))
            left = (wanted - len(found.pairs)) * float(np.mean(self._seconds)) if self._seconds else None
            self.report(Progress(name, len(found.pairs), wanted, ratio, left))
        return found

    def _known(self, name: str, number: int, a: Arm, b: Arm) -> bool:
        return len(self.journal.of(name, number, {"A": a.key, "B": b.key})) == 2

    def _one(self, name: str, number: int, order: tuple[str, str], a: Arm, b: Arm) -> Pair:
        known = self.journal.of(name, number, {"A": a.key, "B": b.key})
        if len(known) == 2:
            return known["A"], known["B"]
        arms, start = {"A": a, "B": b}, time.monotonic()
        padding = {side: (number * 2 + (side == "B")) * 977 % 4096 for side in order}
        if isinstance(self.measure, TakesTurns):
            pair = self.measure.together(
                arms[order[0]], arms[order[1]], (padding[order[0]], padding[order[1]])
            )
            if pair is not None:
                known = dict(zip(order, pair, strict=True))
                self._checked(arms, known)
                for side in order:
                    self.journal.add(Entry(name, number, side, known[side], arms[side].key))
                self._seconds.append(time.monotonic() - start)
                return known["A"], known["B"]
        missing = [side for side in order if side not in known]
        for side in missing:
            known[side] = self.measure(arms[side], padding[side])
            self._checked(arms, {side: known[side]})
            self.journal.add(Entry(name, number, side, known[side], arms[side].key))
        if len(missing) == 2:
            self._seconds.append(time.monotonic() - start)
        return known["A"], known["B"]

    @staticmethod
    def _checked(arms: dict[str, Arm], measured: dict[str, Measurement]) -> None:
        for side, measurement in measured.items():
            if measurement.exit_code != 0:
                raise ArmFailed(arms[side], measurement)
            if measurement.applied == 0:
                raise InputError(
                    f"{arms[side].name}: the change had no effect: the program never made what it changes",
                    "a comparison would compare the program with itself",
                )


def _unit(a: Arm, b: Arm, pairs: list[Pair]) -> str:
    stepless = [sum(m.steps == 0 for m in side) for side in zip(*pairs, strict=True)]
    if stepless == [0, 0]:
        return "step"
    if stepless == [len(pairs), len(pairs)]:
        return "launch"
    arm = a if stepless[0] else b
    raise InputError(
        f"{arm.name}: some launches had no steady steps, others had: their times are not comparable",
        "let the program run more steps",
    )


def _log_ratios(pairs: list[Pair]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([np.log(b.value_ms / a.value_ms) for a, b in pairs], np.float64)
