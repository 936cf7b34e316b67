"""How long moving bytes takes on the recorded machine: from its measured roofs, else a careful guess."""

from __future__ import annotations

from sonde.insights.subject import Subject

GUESS_LOW, GUESS_HIGH = 5e9, 30e9  # bytes/s of main memory: one busy core of a small VM … a good desktop


def bytes_per_second(subject: Subject) -> tuple[float, float]:
    """(low, high) bandwidth of main memory."""
    roofs = subject.meta.machine.get("roofs")
    if isinstance(roofs, dict):
        known = [
            float(b["best"])
            for b in roofs.get("bandwidths", [])
            if isinstance(b, dict) and b.get("name") == "memory" and b.get("best")
        ]
        if known:
            return 0.5 * max(known), max(known)
    return GUESS_LOW, GUESS_HIGH
