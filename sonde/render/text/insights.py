"""`sonde insights REC` for people: the verdict, findings with fixes, and what could not be judged."""

from __future__ import annotations

from sonde.analyze.account.kinds import KINDS
from sonde.insights.bound import sentence
from sonde.insights.engine import Report
from sonde.insights.model import Insight, Saving
from sonde.render.text.needed import needed_words
from sonde.render.text.page import Page
from sonde.render.text.units import count, milliseconds


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
    if headroom := headroom_sentence(report):
        page.line(f"  {headroom} (sonde show {name} account)")
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
    for number, insight in enumerate([i for i in report.insights if not i.pointer][:most], 1):
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
        return "what can be saved is not known" if insight.pointer else "saving: only a trial can tell"
    named = {"step": "per step", "trace": "of the trace", "run": "of the run"}
    of = named[unit] if insight.resource != "once" else "once per run"
    low, high = _range(saving)
    if insight.work == "taken":
        whole = f"{_ms(saving.of_ms)} ms that a {unit} takes with what was taken away"
        return f"saves {low}–{high} of the {whole} ({_percent(saving)})"
    if saving.low_ms < 0:
        more, less = -saving.low_ms / (saving.of_ms or 1.0), min(saving.high_ms / (saving.of_ms or 1.0), 1.0)
        return (
            f"may be slower here, prove first: from {_ms(-saving.low_ms)} ms more to {high} ms less of "
            f"{_ms(saving.of_ms)} ms {of} (+{more * 100:.0f} to −{less * 100:.0f} %)"
        )
    return f"saves {low}–{high} ms of {_ms(saving.of_ms)} ms {of} ({_percent(saving)})"


def _show_insight(insight: Insight, page: Page, name: str, unit: str) -> None:
    page.line(
        f"   {saving_text(insight, unit)}" + ("" if insight.pointer else f", confidence {insight.confidence}")
    )
    page.line(f"   {insight.why}")
    for evidence in insight.evidence:
        page.line(f"   - {evidence.text}")
    for line in insight.fix.splitlines():
        page.line(f"       {line}", style="green")
    if not insight.pointer:
        page.line(f"   prove it: sonde prove {name} {insight.rule}{_how(insight)}")


def _how(insight: Insight) -> str:
    """A change that only the user can make is proved by two commands."""
    return " --before 'COMMAND' --after 'COMMAND'" if insight.experiment.kind in ("patch", "replay") else ""


NOTHING = 0.05  # headroom below which nothing is worth changing


def headroom_sentence(report: Report) -> str | None:
    """What the step takes, what it must do, and how much of that is not known."""
    found = report.headroom
    if found is None or found.own_ns <= 0:
        return None
    what = {"step": "A steady step", "trace": "This trace"}.get(report.unit, "This run")
    own, needed, unknown = (v / 1e6 for v in (found.own_ns, found.needed_ns, found.unknown_ns))
    return f"{what} takes {milliseconds(own)}; {needed_words(own, needed, unknown)}."


def closing_sentence(report: Report) -> str | None:
    """What is left after all fixes, or what the account says of a program without findings; how many rules looked."""
    checked = len(report.silent) + len({i.rule for i in report.insights})
    looked = f"{count(checked)} rules looked."
    if all(insight.pointer for insight in report.insights):
        found = report.headroom
        if found is None:
            return f"No finding, and no account that could say that nothing is worth changing: {looked}"
        if "costly_line" in report.not_judged:
            return f"No finding: {report.not_judged['costly_line']}. {looked}"
        kinds = ", ".join(f"{KINDS[k]} {v:.0%}" for k, v in list(_own_kinds(report).items())[:4])
        if found.share < NOTHING and found.unknown_ns > 0.5 * found.own_ns:
            return (
                f"Nothing found that could be won ({kinds}). The floor of most of this work is not known: "
                f"sonde check --roof, then record again. {looked}"
            )
        if found.share < NOTHING:
            return f"Nothing worth changing: {found.share:.0%} of the time could be won at best ({kinds}). {looked}"
        if report.insights:
            return (
                f"No rule knows a cause, though up to {found.share:.0%} of the time might be saved ({kinds}): "
                f"start with the line above. {looked}"
            )
        return (
            f"No finding, though up to {found.share:.0%} of the time is not useful work ({kinds}): it is spread over "
            f"many lines, none of which takes enough for a card. {looked}"
        )
    if report.step_ms and report.remaining_ms is not None:
        what = {"step": "A steady step", "trace": "The trace", "run": "The run"}[report.unit]
        now, then = _ms(report.step_ms), _ms(report.remaining_ms)
        if now == then:  # nothing that can be promised
            return f"{what} takes {now} ms. {looked}"
        return f"{what} takes {now} ms; after all of this about {then} ms. {looked}"
    return None


def _own_kinds(report: Report) -> dict[str, float]:
    """Shares of kinds of the time that was the program's own."""
    account = report.account
    if account is None or account.own_ns <= 0:
        return {}
    return {k: v * account.whole_ns / account.own_ns for k, v in account.kinds().items() if k != "taken"}


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
        page.line(f"A rule failed, which is a bug in Sonde: {rule}: {error}", style="red")


def _range(saving: Saving) -> tuple[str, str]:
    return _ms(saving.low_ms), _ms(saving.high_ms)


def _percent(saving: Saving) -> str:
    whole = saving.of_ms or 1.0
    low, high = saving.low_ms / whole, min(saving.high_ms / whole, 1.0)
    return f"{low * 100:.0f}–{high * 100:.0f} %"


def _ms(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
