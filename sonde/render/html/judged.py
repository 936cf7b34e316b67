"""What Sonde itself says of a recording, for the page: insights, findings about the machine.

Insights are judged here and now; findings were made where and when the program ran, and lie in its meta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sonde.errors import SondeError
from sonde.experiment.proving import ledger
from sonde.insights.engine import judge
from sonde.insights.to_json import insight_json
from sonde.render.text.insights import closing_sentence, headroom_sentence, saving_text, taken_sentence
from sonde.store.recording import Recording


@dataclass(frozen=True)
class Judged:
    """For `ReportOptions`."""

    insights: list[dict[str, Any]]
    findings: list[Any]
    taken_away: str | None  # that the machine was busy, when it matters
    closing: str | None  # what remains after all fixes, or that there is nothing to fix
    headroom: str | None  # what a step takes and what it must do


def judged(recording: Recording) -> Judged:
    report = judge(recording)
    found = recording.meta.machine.get("findings")
    tried = _tried(str(recording.meta.program or ""))
    cards = [
        {
            **insight_json(i),
            "unit": report.unit,
            "saving_words": saving_text(i, report.unit),
            "status": tried.get(i.rule, "open"),
        }
        for i in report.insights
    ]
    findings = found if isinstance(found, list) else []
    return Judged(
        cards, findings, taken_sentence(report), closing_sentence(report), headroom_sentence(report)
    )


def _tried(program: str) -> dict[str, str]:
    """Rule → proved or refuted, by the newest trial of this program in the user's ledger; others are open."""
    try:
        outcomes = ledger.read(ledger.ledger_path())
    except (SondeError, OSError):
        return {}  # a damaged ledger proves nothing
    words = {"faster": "proved", "slower": "refuted", "same": "refuted"}
    found = {}
    for outcome in outcomes:
        if outcome.program == program and outcome.same_result and outcome.verdict in words:
            found[outcome.rule] = words[outcome.verdict]
    return found
