"""The first line of every view with wall-clock figures: that the machine was busy, when it matters."""

from __future__ import annotations

from typing import Any

from sonde.analyze.recording.taken_away import TakenAway
from sonde.insights.subject import Subject
from sonde.store.recording import Recording


def taken_of(recording: Recording) -> TakenAway:
    """Of the steady steps of the thread that makes them, else of the main thread's life."""
    return Subject(recording).taken


def taken_json(recording: Recording, subject: Subject | None = None) -> dict[str, Any]:
    """`taken_away`: share, seconds, …, and `sentence` where it matters."""
    found = subject.taken if subject else taken_of(recording)
    return {**found.as_json(), "sentence": found.sentence if found.matters else None}
