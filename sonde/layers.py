"""The layers of a stack and their colours, for every picture Sonde makes.

layers.json is the one place: the page's theme (web/src/draw/theme.ts) is built
from it, and exported pictures read it here. Dark text on a light fill, and
light text on a dark one, reaches WCAG AA; the page's unit tests compute it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def hue_names() -> dict[str, str]:
    """Layer → name of its hue, in the order of a stack from the root."""
    return dict(_document()["hue_of"])


@cache
def layer_fills(theme: str = "light") -> dict[str, str]:
    """Layer → #rrggbb."""
    palette = _document()[theme]
    return {layer: palette[hue] for layer, hue in hue_names().items()}


def _document() -> dict[str, dict[str, str]]:
    text = resources.files("sonde").joinpath("layers.json").read_text(encoding="utf-8")
    document: dict[str, dict[str, str]] = json.loads(text)
    return document
