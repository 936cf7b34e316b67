"""The last line of views of samples: what start, imports and shutdown took, which is in no figure above."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Page
from sonde.render.text.units import milliseconds


def say_apart(apart: dict[str, Any], what: str, page: Page) -> None:
    """`what` is the kind of time: "on the CPU", "off the CPU"."""
    parts = [
        f"{milliseconds(apart[key])} of {name}"
        for key, name in (("start_ms", "start and imports"), ("shutdown_ms", "shutdown"))
        if apart[key] >= 0.5
    ]
    if parts:
        page.line(f"Set apart: {', '.join(parts)} {what} (use --whole to count it)")
