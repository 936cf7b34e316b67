"""What Sonde itself says of a recording, for the page: insights, the verdict, findings about the machine.

Insights are judged here and now; findings were made where and when the program ran, and lie in its meta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sonde.insights.engine import judge
from sonde.insights.to_json import insight_json
from sonde.render.text.insights import verdict_sentence
from sonde.store.recording import Recording


@dataclass(frozen=True)
class Judged:
    """For `ReportOptions`."""

    insights: list[dict[str, Any]]
    findings: list[Any]
    verdict: str | None


def judged(recording: Recording) -> Judged:
    report = judge(recording)
    found = recording.meta.machine.get("findings")
    cards = [{**insight_json(i), "unit": report.unit} for i in report.insights]
    return Judged(cards, found if isinstance(found, list) else [], verdict_sentence(report))
