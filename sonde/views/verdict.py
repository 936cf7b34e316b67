"""`verdict`: what bounds the program, in one word with its evidence, for every place that names a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.primitives.table import executed, summarize
from sonde.columns import Table
from sonde.errors import SondeError
from sonde.insights.bound import Bound, bound_of, sentence
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions

EMPTY = "This recording is empty: nothing was sampled, called or logged."


@dataclass(frozen=True)
class Verdict:
    """`word` is None where the recording cannot tell; `sentence` then says what it lacks."""

    word: str | None
    sentence: str
    evidence: list[str]
    shares: dict[str, float]
    samples: int | None  # that the shares are of
    thread: int  # that was judged; -1: none, or a device
    crowded: bool  # other programs had the CPUs


def data(recording: Recording, options: ShowOptions) -> Verdict:
    """Of the steady steps, else of the whole run; of a device's trace, of the device; of a log, what it holds."""
    if not any(len(recording.table(name)) for name in ("samples", "ops", "kernels")):
        if said := _of_log(recording.table("primitives")):
            return Verdict(None, said, [], {}, None, -1, False)
        if not any(len(recording.table(name)) for name in ("marks", "counters", "memory")):
            return Verdict(None, EMPTY, [], {}, None, -1, False)
    try:
        found = bound_of(Subject(recording))
    except NotEnough as error:
        return _unknown(str(error))
    except SondeError as error:
        return _unknown(error.message)
    return _known(found)


def _of_log(primitives: Table) -> str | None:
    """The one sentence for a recording that is only a log of primitives; None when it has none."""
    work = primitives.take(executed(primitives))
    if not len(work):
        return None
    kinds = summarize(primitives, ("kind",))
    whole = float(kinds.array("total_ms").sum()) or 1.0
    slow = (
        float(np.nansum(work.array("time_ms")[work.text("quality").matches(("reference", "fallback"))]))
        / whole
    )
    weak = f", {slow:.0%} in fallback or reference code" if slow > 0 else ""
    return (
        f"This log has {len(work):,} primitive calls that took {whole:.3g} ms: "
        f"{float(kinds.array('total_ms')[0]) / whole:.0%} of it {kinds.text('kind')[0]}{weak}. "
        "A log has no stacks, so where they were called is not known."
    )


def _known(found: Bound) -> Verdict:
    said = sentence(found, None) or ""
    return Verdict(
        found.word, said, list(found.evidence), found.shares, found.samples, found.thread, found.crowded
    )


def _unknown(missing: str) -> Verdict:
    return Verdict(None, sentence(None, missing) or "", [], {}, None, -1, False)
