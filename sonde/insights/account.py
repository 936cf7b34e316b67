"""The account of a recording: of its steady steps where it has any, else of the run without imports and start.
Of a trace with device events: of the device.

The step that is divided is as long as everywhere (`JudgedSteps.step_ns`, the median); its shares are those of all
steady steps together: where some steps take much longer, they count in the shares.

Enters: a `Subject`. Leaves: an `Account` (`sonde.analyze.account`), or `NotEnough` where no thread was sampled.
The one function behind `sonde show REC account`, the report's overview and the insights.
"""

from __future__ import annotations

from sonde.analyze.account.device import device_account
from sonde.analyze.account.slices import Account, account_of
from sonde.insights.judged_steps import NO_SAMPLES
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject


def account(subject: Subject) -> Account:
    """Divide the critical thread's time; of a trace with device events the time of its busiest device."""
    if subject.has_device:
        found = device_account(
            subject.table("kernels"),
            subject.table("launches"),
            subject.table("ops"),
            subject.unit,
            subject.device_steps if subject.names_steps else 1,
        )
        if not found.slices:
            raise NotEnough("no device did any work")
        return found
    samples, threads = subject.table("samples"), subject.table("threads")
    try:
        thread, judged = subject.thread, subject.judged_stacks
        spans, unit, units = subject.steady, subject.unit, subject.steady_steps
    except NotEnough as missing:
        raise missing if len(samples) else NotEnough(NO_SAMPLES) from None
    found = account_of(samples, threads, judged, thread, spans, unit, units)
    if not found.slices:
        raise NotEnough(NO_SAMPLES)
    return found.as_long_as(subject.step_ns) if unit == "step" else found
