"""How long moving bytes takes on the recorded machine: from its measured roofs, else a careful guess."""

from __future__ import annotations

import contextlib

from sonde.insights.model import NotEnough
from sonde.insights.roof import measured_roof
from sonde.insights.subject import Subject

GUESS_LOW, GUESS_HIGH = 5e9, 30e9  # bytes/s of main memory: one busy core of a small VM … a good desktop


def bytes_per_second(subject: Subject) -> tuple[float, float]:
    """(low, high) bandwidth of main memory."""
    with contextlib.suppress(NotEnough):
        known = [level.bytes_per_s for level in measured_roof(subject).levels if level.size_bytes is None]
        if known:
            return 0.5 * max(known), max(known)
    return GUESS_LOW, GUESS_HIGH
