"""The account of a recording: of its steady steps where it has any, else of the run without imports and start.

Enters: a `Subject`. Leaves: an `Account` (`sonde.analyze.account`), or `NotEnough` where no thread was sampled.
The one function behind `sonde show REC account`, the report's overview and the insights.
"""

from __future__ import annotations

from sonde.analyze.account.slices import Account, account_of
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject

NO_SAMPLES = "no thread was sampled: record the program with sonde run"


def account(subject: Subject) -> Account:
    """Divide the critical thread's time."""
    samples, threads = subject.table("samples"), subject.table("threads")
    try:
        thread, judged = subject.thread, subject.judged_stacks
        spans, unit, units = subject.steady, subject.unit, subject.steady_steps
    except NotEnough:
        raise NotEnough(NO_SAMPLES) from None
    found = account_of(samples, threads, judged, thread, spans, unit, units)
    if not found.slices:
        raise NotEnough(NO_SAMPLES)
    return found
