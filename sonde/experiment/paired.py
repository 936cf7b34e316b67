"""Compare two arms by pairs of launches in random order, at planned looks, and say what is known.

First the noise floor by A against A, then B against A. A pair is discarded only by
rules fixed beforehand (the machine throttled it, the hypervisor stole it), never
by its result, and the number discarded is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.errors import InputError
from sonde.experiment.arm import Arm, Measure, Measurement
from sonde.experiment.journal import Entry, Journal
from sonde.experiment.results import agree
from sonde.experiment.schedule import pair_orders
from sonde.experiment.verdict import LOOKS, SMALLEST_CLAIM, Verdict, judge, noise_floor_of

Pair = tuple[Measurement, Measurement]  # (A, B)

FLOOR_PAIRS = 8  # A/A pairs
MAX_DISCARDED_SHARE = 0.5  # of pairs tried; beyond that the machine is no place to measure


@dataclass(frozen=True)
class Progress:
    """What a progress line shows."""

    comparison: str
    pairs_done: int
    pairs_planned: int
    ratio: float | None  # so far


@dataclass(frozen=True)
class Comparison:
    """The outcome of one comparison."""

    verdict: Verdict
    a_ms: float  # median of the arm's launches
    b_ms: float
    discarded: int
    same_result: bool  # what both arms printed is equal


class Paired:
    """Runs comparisons on one journal, so that what was measured is never measured again."""

    def __init__(
        self,
        measure: Measure,
        journal: Journal | None = None,
        seed: int = 0,
        report: Callable[[Progress], None] = lambda progress: None,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> None:
        self.measure = measure
        self.journal = journal or Journal()
        self.seed = seed
        self.report = report
        self.out_of_time = out_of_time

    def noise_floor(self, arm: Arm, pairs: int = FLOOR_PAIRS) -> float:
        """Half-width of the interval of A against A, as a relative difference."""
        name = f"noise of {arm.name}"
        found, _ = self._pairs(name, arm, arm, pairs)
        return max(noise_floor_of(_log_ratios(found)), SMALLEST_CLAIM)

    def compare(
        self, a: Arm, b: Arm, floor: float = SMALLEST_CLAIM, looks: tuple[int, ...] = LOOKS, label: str = ""
    ) -> Comparison:
        """B against A; stops at the first planned look that knows the answer."""
        name = label or f"{b.name} against {a.name}"
        for look in looks:
            found, discarded = self._pairs(name, a, b, look)
            verdict = judge(_log_ratios(found), floor)
            if verdict.word != "inconclusive" or self.out_of_time():
                break
        return Comparison(
            verdict=verdict,
            a_ms=float(np.median([m.value_ms for m, _ in found])),
            b_ms=float(np.median([m.value_ms for _, m in found])),
            discarded=discarded,
            same_result=all(agree(a.result, b.result) for a, b in found),
        )

    def _pairs(
        self, name: str, a: Arm, b: Arm, wanted: int
    ) -> tuple[list[tuple[Measurement, Measurement]], int]:
        """The first `wanted` undisturbed pairs, measuring those the journal does not have."""
        found: list[Pair] = []
        discarded = 0
        for number, order in enumerate(pair_orders(self.seed)):
            if len(found) >= wanted or (found and self.out_of_time()):
                break
            pair = self._one(name, number, order, a, b)
            if pair[0].disturbed or pair[1].disturbed:
                discarded += 1
                if discarded > 4 and discarded > MAX_DISCARDED_SHARE * (number + 1):
                    why = pair[0].disturbed or pair[1].disturbed
                    raise InputError(
                        f"{discarded} of {number + 1} pairs were disturbed ({why})",
                        "measure on a quieter machine, or give the container a larger CPU quota",
                    )
                continue
            found.append(pair)
            ratio = float(np.exp(np.median(_log_ratios(found))))
            self.report(Progress(name, len(found), wanted, ratio))
        return found, discarded

    def _one(self, name: str, number: int, order: tuple[str, str], a: Arm, b: Arm) -> Pair:
        known = self.journal.of(name, number)
        arms = {"A": a, "B": b}
        for side in order:
            if side not in known:
                padding = (number * 2 + (side == "B")) * 977 % 4096
                measurement = self.measure(arms[side], padding)
                if measurement.exit_code != 0:
                    raise InputError(
                        f"{arms[side].name}: the program ended with exit code {measurement.exit_code}",
                        "run it by itself to see why: " + " ".join(arms[side].words()),
                    )
                known[side] = measurement
                self.journal.add(Entry(name, number, side, measurement))
        return known["A"], known["B"]


def _log_ratios(pairs: list[Pair]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([np.log(b.value_ms / a.value_ms) for a, b in pairs], np.float64)
