"""What Sonde itself says of a recording, for the page: insights, findings about the machine.

Insights are judged here and now; findings were made where and when the program ran, and lie in its meta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sonde.insights.engine import judge
from sonde.insights.to_json import insight_json
from sonde.render.text.insights import closing_sentence, taken_sentence
from sonde.store.recording import Recording


@dataclass(frozen=True)
class Judged:
    """For `ReportOptions`."""

    insights: list[dict[str, Any]]
    findings: list[Any]
    taken_away: str | None  # that the machine was busy, when it matters
    closing: str | None  # what remains after all fixes, or that there is nothing to fix


def judged(recording: Recording) -> Judged:
    report = judge(recording)
    found = recording.meta.machine.get("findings")
    cards = [{**insight_json(i), "unit": report.unit} for i in report.insights]
    findings = found if isinstance(found, list) else []
    return Judged(cards, findings, taken_sentence(report), closing_sentence(report))
