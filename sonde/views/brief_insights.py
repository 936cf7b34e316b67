"""What `sonde insights` says, arranged for an answer of 2,000 tokens: cards first, each with file, line and fix.

Enters: a recording and its report. Leaves: a plain answer that `sonde.views.brief` can shorten. Beside the JSON of
`sonde insights --json` it has
    code         in a card: the text of its line, as the recording keeps it
    called_at    in a card: lines of the program that call what the fix names (a constructor, a setting): there it goes
    lines        the user's lines with most time, [{file, line, code, function, share, work}], with or without a card
    compiled     of a program that compiled for a tenth of its run: graph breaks and recompilations, with their lines
    not_judged   rules that lack the same thing together: {"rule, rule": what they lack}
    ask_next     commands that go on from this report
and leaves out what no reader acts on: rules that found nothing are counted, evidence is its sentence alone.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sonde.analyze.account.kinds import KINDS
from sonde.analyze.account.slices import Account, Slice
from sonde.analyze.recording.compile_summary import compile_summary
from sonde.columns import Table
from sonde.insights.engine import Report
from sonde.insights.model import Experiment, Insight
from sonde.insights.source_facts import source_facts
from sonde.insights.to_json import report_json
from sonde.store.recording import Recording
from sonde.views.compile import TABLES

LINES = 5
LEAST_SHARE = 0.02  # of the step: a line below it is not worth a token
LONGEST_CODE = 160
NAMED = 5  # rules that lack the same
MOST_CALLS = 3  # of a function, for its calls to be told beside a fix that names it
CALLED = re.compile(r"([A-Za-z_]\w*)\(")
MEANT = re.compile(
    r"[A-Z]|set_|(?:compile|zero_grad|autocast)$"
)  # constructors and settings; a `sum` is anybody's
COMPILING = 0.1  # of the run: then the answer about compiling is worth reading
BY_TWO_COMMANDS = ("patch", "replay")  # experiments for which the user makes the change


def arranged(recording: Recording, report: Report, notes: Sequence[str], name: str) -> dict[str, Any]:
    """The answer, and under `left_out` what of the report is not in it."""
    sources = recording.table("sources")
    code, calls = _Code(sources), _Calls(sources)
    compiled = _compiled(recording, code)
    whole = report_json(report)
    for key in ("silent", "not_applicable", "not_judged", "insights", "verdict", "taken_away"):
        whole.pop(key)
    taken = report.taken
    return {
        "notes": list(notes),
        **({"taken_away": taken.as_json()} if taken is not None and taken.matters else {}),
        "verdict": None
        if report.bound is None
        else {"bound": report.bound.word, "evidence": report.bound.evidence},
        "insights": [_card(insight, code, calls) for insight in report.insights],
        "lines": [] if report.account is None else _lines(report.account, code),
        **({"compiled": compiled} if compiled else {}),
        **whole,
        "not_judged": _together(report.not_judged),
        "ask_next": _next(report, name, bool(compiled)),
        "left_out": {"silent": len(report.silent), "not_applicable": len(report.not_applicable)},
    }


class _Code:
    """Text of source lines that the recording keeps, "" for others and for files that changed meanwhile."""

    def __init__(self, sources: Table) -> None:
        files, texts = (sources.text(column).tolist() for column in ("file", "text"))
        changed = sources.array("changed").tolist()
        self._texts = {f: t for f, t, late in zip(files, texts, changed, strict=True) if f and t and not late}
        self._lines: dict[str, list[str]] = {}

    def __call__(self, file: str, line: int) -> str:
        if file not in self._lines:
            self._lines[file] = (self._texts.get(file) or "").split("\n")
        lines = self._lines[file]
        return lines[line - 1].strip()[:LONGEST_CODE] if 0 < line <= len(lines) else ""


class _Calls:
    """Where the program calls what a fix names."""

    def __init__(self, sources: Table) -> None:
        self._places: dict[str, list[tuple[str, int]]] = {}
        for file, facts in source_facts(sources).items():
            for name, lines in facts.calls.items():
                self._places.setdefault(name, []).extend((file, line) for line in lines)

    def named_in(self, fix: str) -> list[tuple[str, int]]:
        """Places of names that are called seldom enough to be meant."""
        names = dict.fromkeys(CALLED.findall(fix))
        found = [self._places.get(name, []) for name in names if MEANT.match(name)]
        return list(dict.fromkeys(place for places in found if len(places) <= MOST_CALLS for place in places))


def _card(insight: Insight, code: _Code, calls: _Calls) -> dict[str, Any]:
    saving = insight.saving
    card: dict[str, Any] = {"rule": insight.rule, "title": insight.title}
    card |= _at(insight.file, insight.line, code)
    card["fix"] = insight.fix
    if places := [at for at in calls.named_in(insight.fix) if at != (insight.file, insight.line)]:
        card["called_at"] = [_at(*at, code) for at in places]
    if saving is not None:
        card["saving_ms_per_step"] = {"low": saving.low_ms, "high": saving.high_ms}
        card["saving_of_ms"] = saving.of_ms
        card["saving_share"] = saving.share
    card |= {
        "confidence": insight.confidence,
        "why": insight.why,
        "evidence": [e.text for e in insight.evidence],
    }
    card |= {"way": insight.way, "work": insight.work, "resource": insight.resource}
    if insight.experiment.note:
        card["mind"] = insight.experiment.note
    return card


def _at(file: str, line: int, code: _Code) -> dict[str, Any]:
    found: dict[str, Any] = {"file": file} if file else {}
    if line > 0:
        found["line"] = line
    if text := code(file, line):
        found["code"] = text
    return found


def _lines(account: Account, code: _Code) -> list[dict[str, Any]]:
    """The user's lines with most time of the step, all kinds of work together."""
    by_line: dict[tuple[str, int], list[Slice]] = {}
    for one in account.slices:
        if one.place.file and one.kind != "taken":
            by_line.setdefault((one.place.file, one.place.line), []).append(one)
    whole = account.own_ns or 1.0  # without what other programs took: their share says nothing of a line
    share = {at: sum(one.ns for one in slices) / whole for at, slices in by_line.items()}
    costliest = sorted((at for at in share if share[at] >= LEAST_SHARE), key=lambda at: -share[at])[:LINES]
    return [
        {
            **_at(*at, code),
            "function": by_line[at][0].place.function,
            "share": share[at],
            "work": ", ".join(KINDS[one.kind] for one in sorted(by_line[at], key=lambda one: -one.share)[:2]),
        }
        for at in costliest
    ]


def _compiled(recording: Recording, code: _Code) -> dict[str, Any]:
    """What took long in a program that compiled for a good part of its run, with the lines that torch names."""
    found = compile_summary(*(recording.table(name) for name in TABLES))
    if not found.span_ns or found.compile_ns <= COMPILING * found.span_ns:
        return {}
    again = Counter((r.name, r.file or "", r.line) for r in found.regions if r.recompile_reason)
    reasons = {
        (r.name, r.file or "", r.line): r.recompile_reason for r in found.regions if r.recompile_reason
    }
    return {
        "share_of_run": found.compile_ns / found.span_ns,
        "graph_breaks": [
            {**_at(b.file or "", b.line, code), "reason": b.reason.split("\n")[0], "count": b.count}
            for b in found.breaks
        ],
        "recompiled": [
            {"function": name, **_at(file, line, code), "times": times, "because": reasons[name, file, line]}
            for (name, file, line), times in again.most_common()
        ],
    }


def _together(not_judged: Mapping[str, str]) -> dict[str, str]:
    rules: dict[str, list[str]] = {}
    for rule, reason in not_judged.items():
        rules.setdefault(reason, []).append(rule)
    return {_names(names): reason for reason, names in rules.items()}


def _names(rules: list[str]) -> str:
    shown = ", ".join(rules[:NAMED])
    return shown if len(rules) <= NAMED else f"{shown} and {len(rules) - NAMED} more"


def _next(report: Report, name: str, compiled: bool) -> list[str]:
    """Proofs of the first cards, then the views that say more."""
    shown = shlex.quote(name)
    provable = [
        i for i in report.insights if i.work != "taken" and i.saving is not None
    ]  # no change ends neighbours
    commands = [
        f"sonde prove {shown} {rule}{_how(experiment)}"
        for rule, experiment in {i.rule: i.experiment for i in reversed(provable[:2])}.items()
    ][::-1]
    if compiled:
        commands.append(f"sonde show {shown} compile --brief")
    return [*commands, f"sonde show {shown} account --brief"]


def _how(experiment: Experiment) -> str:
    return " --before 'COMMAND' --after 'COMMAND'" if experiment.kind in BY_TWO_COMMANDS else ""
