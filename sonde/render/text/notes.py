"""The first lines of every text view: what must be known before its figures are read."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.render.text.page import Page


def show_notes(notes: Sequence[str], page: Page) -> None:
    """One line each, and a blank line before the view."""
    for note in notes:
        page.line(f"Note: {note}", style="yellow")
    if notes:
        page.line()
