"""Every rule over one recording: what to change, best first, and what could not be judged.

Enters: a recording. Leaves: a `Report`. A rule that raises anything but `NotEnough` is a defect of ours: it is
listed in `failed`, and the other rules still speak.
Order: the least that a change is sure to save comes first. Savings that overlap are counted once (see `recombine`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sonde.analyze.account.slices import Account
from sonde.analyze.recording.taken_away import TakenAway
from sonde.errors import SondeError
from sonde.insights.account import account
from sonde.insights.bound import Bound, bound_of
from sonde.insights.cards import completed
from sonde.insights.floors import Headroom, headroom
from sonde.insights.model import Insight, NotEnough
from sonde.insights.native_words import in_its_language
from sonde.insights.recombine import merged, remaining_ms
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules import RULES
from sonde.insights.subject import Subject
from sonde.store.recording import Recording

T = TypeVar("T")
WEIGHT = {"high": 1.0, "medium": 0.7, "low": 0.4}
# A finding whose saving only a trial can tell ranks as if it saved this share of the step.
UNKNOWN_SHARE = 0.02
LEAST_SHARE = 0.01  # of the step: what is left below it, after overlaps, is no finding (ours)


@dataclass(frozen=True)
class Report:
    """What the rules say of one recording."""

    insights: tuple[Insight, ...]  # best first
    not_judged: dict[str, str]  # rule → what it lacked
    silent: tuple[str, ...]  # rules that looked and found nothing
    not_applicable: tuple[str, ...]  # rules for the other kind of program
    failed: dict[str, str]  # rule → exception: a defect of Sonde
    step_ms: float | None
    unit: str  # what `step_ms` is the time of: step, or trace or run where there are no steps
    remaining_ms: float | None  # step time after all fixes, savings on one chain recombined
    bound: Bound | None
    taken: TakenAway | None = None  # time in which the stepping thread was ready but off the CPU
    account: Account | None = None  # None: nothing was sampled
    headroom: Headroom | None = None


def judge(recording: Recording, rules: Sequence[Rule] = RULES, subject: Subject | None = None) -> Report:
    """Ask every rule. `subject`: the recording's, where the caller has asked it something already."""
    subject = subject or Subject(recording)
    found: list[tuple[Rule, Finding]] = []
    not_judged: dict[str, str] = {}
    failed: dict[str, str] = {}
    silent: list[str] = []
    elsewhere: list[str] = []
    for rule in rules:
        if rule.scope != "any" and (rule.scope == "gpu") != subject.has_device:
            elsewhere.append(rule.name)
            continue
        try:
            mine = list(rule.judge(subject))
        except NotEnough as missing:
            not_judged[rule.name] = str(missing)
        except SondeError as error:  # a damaged table: the reader's word on it is good enough
            not_judged[rule.name] = error.message
        except Exception as error:
            failed[rule.name] = f"{type(error).__name__}: {error}"
        else:
            found += [(rule, finding) for finding in mine]
            if not mine:
                silent.append(rule.name)
    step_ms = _asked(lambda: subject.step_ms)

    def sure(name: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except NotEnough as missing:
            not_judged[name] = str(missing)
        except SondeError as error:
            not_judged[name] = error.message
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
        return None

    bound = sure("verdict", lambda: bound_of(subject))
    divided = sure("account", lambda: account(subject))
    kept = [completed(subject, rules, finding) for finding in merged(subject, found, LEAST_SHARE)]
    kept.sort(key=lambda finding: rank(finding.insight), reverse=True)
    left = remaining_ms(subject, kept, step_ms) if step_ms else None
    return Report(
        tuple(in_its_language(f.insight, subject) for f in kept),
        not_judged,
        tuple(silent),
        tuple(elsewhere),
        failed,
        step_ms,
        _asked(lambda: subject.unit) or "step",
        left,
        bound,
        _asked(lambda: subject.taken),
        divided,
        None if divided is None else sure("headroom", lambda: headroom(subject, divided)),
    )


def rank(insight: Insight) -> tuple[float, float]:
    """What is sure to be saved as a share of the step, weighted; then the middle of what is expected."""
    if insight.pointer:
        return 0.0, UNKNOWN_SHARE  # after what surely saves something, before noise
    if insight.saving is None:
        return 0.0, UNKNOWN_SHARE * WEIGHT[insight.confidence]
    low, middle = insight.saving.low_share, insight.saving.share
    if insight.work == "taken" and low <= 0:
        return -1.0, middle  # strangers: nothing that the program can change
    if insight.resource == "once":
        low, middle = 0.1 * low, 0.1 * middle  # paid once per run: never before what every step pays
    weight = WEIGHT[insight.confidence]
    return (low * weight if low > 0 else low), middle * weight


def _asked(question: Callable[[], T]) -> T | None:
    """The answer, or None where the recording cannot tell."""
    try:
        return question()
    except (NotEnough, SondeError):
        return None
