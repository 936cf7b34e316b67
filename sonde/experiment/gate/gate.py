"""The gate: each benchmark's verdict, and what it means for a pull request.

Enters: comparisons of head with base. Leaves: one `Result` per benchmark. A benchmark fails only when head is slower
beyond the machine's noise and by more than the limit; what cannot be told is inconclusive, which is not a failure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sonde.experiment.design.arm import Arm
from sonde.experiment.gate.revisions import Revision
from sonde.experiment.measure.paired import Comparison, Paired
from sonde.statistics.verdict import LOOKS

Status = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True)
class Result:
    """One benchmark. Ratios are head's time by base's."""

    name: str
    command: tuple[str, ...]
    status: Status
    comparison: Comparison
    limit: float
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """What happened, with its interval."""
        verdict, ratio = self.comparison.verdict, self.comparison.verdict.ratio
        interval = f"{ratio.low:.3f}–{ratio.high:.3f}×"
        if verdict.word == "slower":
            beyond = "" if self.status == "fail" else f", within the limit of {self.limit:.1%}"
            return f"slower: {ratio.estimate:.3f}× the time of base ({interval}){beyond}"
        if verdict.word == "faster":
            return f"faster: {ratio.estimate:.3f}× the time of base ({interval})"
        if verdict.word == "same":
            return f"no difference: {verdict.reason}"
        return f"inconclusive after {verdict.pairs} pairs: {verdict.reason}"


def status_of(comparison: Comparison, limit: float) -> Status:
    """fail: slower, and by more than `limit` (0.02 is 2 %). Only what is known counts."""
    verdict = comparison.verdict
    if verdict.word == "inconclusive":
        return "inconclusive"
    return "fail" if verdict.word == "slower" and verdict.ratio.estimate > 1 + limit else "pass"


def arm_of(name: str, command: tuple[str, ...], revision: Revision) -> Arm:
    """The benchmark in one revision's files."""
    return Arm(name, command, directory=revision.folder, revision=revision.commit or revision.name)


def gate(name: str, base: Arm, head: Arm, engine: Paired, limit: float) -> Result:
    """The noise of base first, then head against base; a fresh set of pairs must confirm a failure."""
    label = f"{name}: head against base"
    floor = engine.noise_floor(replace(base, name=f"{name} on base"))
    found = engine.compare(base, head, floor, label=label)
    if status_of(found, limit) == "fail" and not engine.out_of_time():
        again = engine.compare(base, head, floor, looks=LOOKS[:2], label=f"{label}, again")
        if again.verdict.word != "slower":
            found = replace(
                found, verdict=replace(again.verdict, word="inconclusive", reason="fresh pairs did not agree")
            )
    return Result(name, base.command, status_of(found, limit), found, limit)
