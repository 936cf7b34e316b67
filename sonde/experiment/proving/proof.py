"""A proof: the saving that was promised against the saving that was measured.

Plain records and what follows from them; nothing here launches anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from sonde.experiment.measure.paired import Comparison
from sonde.experiment.proving.ledger import Outcome
from sonde.insights.model import Insight


@dataclass(frozen=True)
class Proof:
    """What was promised and what came. Savings are shares of the time before; None where no figure was given."""

    rule: str
    predicted: tuple[float, float] | None
    measured: float
    low: float | None
    high: float | None
    comparison: Comparison
    noise_floor: float
    how: str  # launches, launches in turns, or blocks of steps in one process

    @property
    def word(self) -> str:
        """proved, disproved, no effect, or open; results that changed prove nothing."""
        if not self.comparison.same_result:
            return "results differ"
        return {"faster": "proved", "slower": "disproved", "same": "no effect"}.get(
            self.comparison.verdict.word, "open"
        )


def proof_of(
    rule: str, predicted: tuple[float, float] | None, found: Comparison, floor: float, how: str
) -> Proof:
    ratio = found.verdict.ratio
    closed = ratio.low > 0 and ratio.high < float("inf")
    return Proof(
        rule,
        predicted,
        1 - ratio.estimate,
        1 - ratio.high if closed else None,
        1 - ratio.low if closed else None,
        found,
        floor,
        how,
    )


def predicted_of(insight: Insight | None) -> tuple[float, float] | None:
    """The saving that an insight promises, as shares of the step."""
    saving = insight.saving if insight else None
    if saving is None or saving.of_ms <= 0:
        return None
    return saving.low_ms / saving.of_ms, saving.high_ms / saving.of_ms


def outcome_of(proof: Proof, program: str, insight: Insight | None) -> Outcome:
    """The line for the ledger."""
    promised = proof.predicted or (None, None)
    return Outcome(
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        rule=proof.rule,
        program=program,
        predicted_low=promised[0],
        predicted_high=promised[1],
        measured=proof.measured,
        measured_low=proof.low,
        measured_high=proof.high,
        verdict=proof.comparison.verdict.word,
        pairs=proof.comparison.verdict.pairs,
        same_result=proof.comparison.same_result,
        confidence=insight.confidence if insight else "",
        kind=insight.experiment.kind if insight else "patch",
    )
