"""Every prediction and what became of it: how good Sonde's promises are, counted.

One JSON line per proof, in the user's state folder. Calibration: a prediction is an interval of savings; it
holds when it overlaps the measured interval. A prediction whose proof was inconclusive, or whose change made the
program's results differ, counts as neither.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sonde import json_text
from sonde.errors import InputError
from sonde.store import typed


@dataclass(frozen=True)
class Outcome:
    """One proof. Savings are shares of the step (or run) before the change; negative: it got slower."""

    when: str  # ISO 8601
    rule: str
    program: str
    predicted_low: float | None  # None: the rule promised no figure
    predicted_high: float | None
    measured: float
    measured_low: float | None  # None: the interval was not closed
    measured_high: float | None
    verdict: str  # faster, slower, same or inconclusive
    pairs: int
    same_result: bool
    confidence: str = ""
    kind: str = ""  # of the experiment

    @property
    def judged(self) -> str:
        """held, missed_low (promised too much), missed_high (promised too little), open, or no_figure."""
        if self.predicted_low is None or self.predicted_high is None:
            return "no_figure"
        if not self.same_result:
            return "open"  # another result: whatever its time, it is not what was promised
        if self.measured_low is None or self.measured_high is None or self.verdict == "inconclusive":
            return "open"
        if self.measured_high < self.predicted_low:
            return "missed_low"
        return "missed_high" if self.measured_low > self.predicted_high else "held"


@dataclass(frozen=True)
class Calibration:
    """Of one rule, or of all."""

    rule: str
    proofs: int
    held: int
    promised_too_much: int
    promised_too_little: int
    open: int

    @property
    def share(self) -> float | None:
        """Of the predictions that could be judged, how many held."""
        judged = self.held + self.promised_too_much + self.promised_too_little
        return self.held / judged if judged else None


def ledger_path() -> Path:
    """$SONDE_LEDGER, or a file among the user's state."""
    given = os.environ.get("SONDE_LEDGER")
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(given) if given else Path(state) / "sonde" / "ledger.jsonl"


def add(outcome: Outcome, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")


def read(path: Path) -> list[Outcome]:
    """All outcomes, oldest first; an empty list where nothing was proved yet."""
    if not path.exists():
        return []
    found = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            found.append(typed.build(Outcome, json_text.loads(line)))
        except ValueError as error:
            if number < len(lines):  # the last line may have been cut off while it was written
                raise InputError(f"{path}:{number} is not a line of the ledger: {error}") from None
    return found


def calibration(outcomes: list[Outcome]) -> list[Calibration]:
    """By rule, most proofs first, and "all" at the end."""
    by_rule: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_rule.setdefault(outcome.rule, []).append(outcome)
    rows = [_counted(rule, mine) for rule, mine in by_rule.items()]
    rows.sort(key=lambda row: (-row.proofs, row.rule))
    return [*rows, _counted("all", outcomes)]


def _counted(rule: str, outcomes: list[Outcome]) -> Calibration:
    judged = [o.judged for o in outcomes]
    return Calibration(
        rule, len(outcomes), judged.count("held"), judged.count("missed_low"), judged.count("missed_high"),
        judged.count("open"),
    )  # fmt: skip
