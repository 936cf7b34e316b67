"""The first line of every view with wall-clock figures: that the machine was busy, when it matters."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Page


def say_taken(taken: dict[str, Any] | None, page: Page) -> None:
    """Print the sentence of `taken_json`, if there is one."""
    if taken and taken["sentence"]:
        page.line(taken["sentence"])
