"""A report of insights as plain data, with the keys that docs/json.md documents, and some more.

`taken_away` {share, seconds, …} (see `sonde.analyze.recording.taken_away`),
`insights` [{rule, title, why, evidence, saving_ms_per_step {low, high}, saving_of_ms, saving_share,
confidence, fix, experiment, resource, way, work, file, line,
pointer}] (`pointer`: the card only names the first place to look), `step_ms`, `remaining_ms`,
`verdict` {bound, shares, evidence},
`not_judged` {rule: reason}, `silent`,
`not_applicable`, `failed` {rule: exception}; of the account `kinds` {kind: share of the wall time}, `needed_ms`
(what a step must do, as far as floors are known), `headroom_share`, `unknown_floor_ms`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sonde.insights.engine import Report
from sonde.insights.model import Insight


def report_json(report: Report) -> dict[str, Any]:
    """Everything a program may want to know."""
    bound = report.bound
    return {
        "taken_away": None if report.taken is None else report.taken.as_json(),
        "insights": [insight_json(i) for i in report.insights],
        "step_ms": report.step_ms,
        "unit": report.unit,
        "remaining_ms": report.remaining_ms,
        "verdict": None
        if bound is None
        else {"bound": bound.word, "shares": bound.shares, "evidence": list(bound.evidence)},
        "not_judged": report.not_judged,
        "silent": list(report.silent),
        "not_applicable": list(report.not_applicable),
        "failed": report.failed,
        "needed_ms": None if report.headroom is None else report.headroom.needed_ns / 1e6,
        "headroom_share": None if report.headroom is None else report.headroom.share,
        "unknown_floor_ms": None if report.headroom is None else report.headroom.unknown_ns / 1e6,
        "kinds": None if report.account is None else report.account.kinds(),
    }


def insight_json(insight: Insight) -> dict[str, Any]:
    saving = insight.saving
    return {
        "rule": insight.rule,
        "title": insight.title,
        "why": insight.why,
        "evidence": [asdict(e) for e in insight.evidence],
        "saving_ms_per_step": None if saving is None else {"low": saving.low_ms, "high": saving.high_ms},
        "saving_of_ms": None if saving is None else saving.of_ms,
        "saving_share": None if saving is None else saving.share,
        "confidence": insight.confidence,
        "fix": insight.fix,
        "pointer": insight.pointer,
        "experiment": asdict(insight.experiment),
        "resource": insight.resource,
        "way": insight.way,
        "work": insight.work,
        "file": insight.file,
        "line": insight.line,
    }
