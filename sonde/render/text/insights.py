"""`sonde insights REC` for people: the verdict, findings with fixes, and what could not be judged."""

from __future__ import annotations

from sonde.insights.bound import sentence
from sonde.insights.engine import Report
from sonde.insights.model import Insight, Saving
from sonde.render.text.page import Page
from sonde.render.text.units import count


def show_insights(report: Report, page: Page, name: str, everything: bool = False) -> None:
    """Print all of a report."""
    if sentence := taken_sentence(report):
        page.line(sentence)
    if report.bound is not None:
        page.heading(f"This program is {report.bound.word}.")
        for line in report.bound.evidence:
            page.line(f"  {line}")
    elif said := verdict_sentence(report):
        page.heading(said)
    for number, insight in enumerate(report.insights, 1):
        page.line()
        page.heading(f"{number}. {insight.title}")
        _show_insight(insight, page, name, report.unit)
    page.line()
    _closing(report, page, everything)


def summary_lines(report: Report, most: int = 3) -> list[str]:
    """The verdict and the best findings in a line each, for the summary of a run."""
    lines = []
    if said := verdict_sentence(report):
        lines.append(said.rstrip("."))
    for number, insight in enumerate(report.insights[:most], 1):
        saving = f" — {saving_text(insight, report.unit)}" if insight.saving else ""
        lines.append(f"  {number}. {insight.title}{saving}")
    return lines


def taken_sentence(report: Report) -> str | None:
    """That the machine was busy, when that matters."""
    return report.taken.sentence if report.taken is not None and report.taken.matters else None


def verdict_sentence(report: Report) -> str | None:
    """One sentence for the top of a page."""
    return sentence(report.bound, report.not_judged.get("verdict"))


def saving_text(insight: Insight, unit: str = "step") -> str:
    """`saves 3.1–4.0 ms of 20 ms per step (15–20 %)`."""
    saving = insight.saving
    if saving is None:
        return "saving: only a trial can tell"
    of = {"step": "per step", "trace": "of the trace"}[unit] if insight.resource != "once" else "once per run"
    low, high = _range(saving)
    return f"saves {low}–{high} ms of {_ms(saving.of_ms)} ms {of} ({_percent(saving)})"


def _show_insight(insight: Insight, page: Page, name: str, unit: str) -> None:
    page.line(f"   {saving_text(insight, unit)}, confidence {insight.confidence}")
    page.line(f"   {insight.why}")
    for evidence in insight.evidence:
        page.line(f"   - {evidence.text}")
    for line in insight.fix.splitlines():
        page.line(f"       {line}", style="green")
    page.line(f"   prove it: sonde prove {name} {insight.rule}{_how(insight)}")


def _how(insight: Insight) -> str:
    """A change that only the user can make is proved by two commands."""
    return " --before 'COMMAND' --after 'COMMAND'" if insight.experiment.kind in ("patch", "replay") else ""


def closing_sentence(report: Report) -> str | None:
    """What is left after all fixes, or that there is nothing to fix; how many rules looked."""
    checked = len(report.silent) + len({i.rule for i in report.insights})
    if not report.insights:
        return f"Nothing worth changing was found: {count(checked)} rules looked."
    if report.step_ms and report.remaining_ms is not None:
        what = "A steady step" if report.unit == "step" else "The trace"
        now, then = _ms(report.step_ms), _ms(report.remaining_ms)
        return f"{what} takes {now} ms; after all of this about {then} ms. {count(checked)} rules looked."
    return None


def _closing(report: Report, page: Page, everything: bool) -> None:
    if sentence := closing_sentence(report):
        page.line(sentence)
    if everything and report.silent:
        page.line("Looked and found nothing: " + ", ".join(report.silent))
    reasons: dict[str, list[str]] = {}
    for rule, reason in report.not_judged.items():
        reasons.setdefault(reason, []).append(rule)
    for reason, rules in sorted(reasons.items(), key=lambda item: -len(item[1]))[: None if everything else 3]:
        shown = ", ".join(rules if everything else rules[:4]) + (
            "" if everything or len(rules) <= 4 else ", …"
        )
        page.line(f"Not judged ({len(rules)}): {reason} — {shown}")
    for rule, error in report.failed.items():
        page.line(f"A rule failed, which is a defect of Sonde: {rule}: {error}", style="red")


def _range(saving: Saving) -> tuple[str, str]:
    return _ms(saving.low_ms), _ms(saving.high_ms)


def _percent(saving: Saving) -> str:
    whole = saving.of_ms or 1.0
    low, high = saving.low_ms / whole, min(saving.high_ms / whole, 1.0)
    return f"{low * 100:.0f}–{high * 100:.0f} %"


def _ms(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
