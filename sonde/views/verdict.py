"""`verdict`: what bounds the program, in one word with its evidence, for every place that names a bound."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.errors import SondeError
from sonde.insights.bound import Bound, bound_of, sentence
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions


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
    """Of the steady steps, else of the whole run; of a device's trace, of the device."""
    try:
        found = bound_of(Subject(recording))
    except NotEnough as error:
        return _unknown(str(error))
    except SondeError as error:
        return _unknown(error.message)
    return _known(found)


def _known(found: Bound) -> Verdict:
    said = sentence(found, None) or ""
    return Verdict(
        found.word, said, list(found.evidence), found.shares, found.samples, found.thread, found.crowded
    )


def _unknown(missing: str) -> Verdict:
    return Verdict(None, sentence(None, missing) or "", [], {}, None, -1, False)
