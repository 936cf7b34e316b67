"""The account of a recording: of its steady steps where it has any, else of the run without imports and start.

Enters: a `Subject`. Leaves: an `Account` (`sonde.analyze.account`), or `NotEnough` where no thread was sampled.
The one function behind `sonde show REC account`, the report's overview and the insights.
"""

from __future__ import annotations

from sonde.analyze.account.extent import run_extent
from sonde.analyze.account.slices import Account, Sliced, account_of, sliced
from sonde.analyze.recording.taken_away import main_thread
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject

NO_SAMPLES = "no thread was sampled: record the program with sonde run"


def account(subject: Subject) -> Account:
    """Divide the critical thread's time."""
    samples, threads = subject.table("samples"), subject.table("threads")
    thread = critical_thread(subject)
    judged = judged_stacks(subject)
    try:
        spans, unit, units = subject.steady, "step", subject.steady_steps
    except NotEnough:
        spans, unit, units = run_extent(samples, threads, thread, subject.stacks), "run", 1
    found = account_of(samples, threads, judged, thread, spans, unit, units)
    if not found.slices:
        raise NotEnough(NO_SAMPLES)
    return found


def critical_thread(subject: Subject) -> int:
    """The thread that makes the steps, else the main thread that lived longest."""
    try:
        return subject.thread
    except NotEnough:
        found = main_thread(subject.table("marks"), subject.table("threads"))
    if found < 0:
        raise NotEnough(NO_SAMPLES)
    return found


def judged_stacks(subject: Subject) -> Sliced:
    """Kinds and places of all stacks."""
    return sliced(subject.stacks, subject.table("samples"), critical_thread(subject))
