"""How much of a step, trace or run its results need: one wording for the account, insights and the report."""

from __future__ import annotations

from sonde.render.text.units import milliseconds

LITTLE = 0.05  # of the time: less is not worth a word


def needed_words(own_ms: float, needed_ms: float, unknown_ms: float) -> str:
    """Without capital and full stop. `needed_ms` counts the time as needed whose floor is not known, `unknown_ms`."""
    if unknown_ms < LITTLE * own_ms:
        return f"what it must do would take {milliseconds(needed_ms)}"
    if needed_ms - unknown_ms < LITTLE * own_ms:
        return (
            f"up to {milliseconds(own_ms - needed_ms)} of it could be saved; how much of the other "
            f"{milliseconds(unknown_ms)} is needed is not known"
        )
    return (
        f"what it must do would take {milliseconds(needed_ms)}, if all of the {milliseconds(unknown_ms)} "
        "with an unknown floor is needed"
    )
