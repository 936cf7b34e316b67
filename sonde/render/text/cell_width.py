"""How many columns of a terminal a text takes: two for wide characters of East Asia, none for combining ones."""

from __future__ import annotations

import functools
import unicodedata

_NO_WIDTH = ("Mn", "Me", "Cf")


def cell_len(text: str) -> int:
    """Columns that `text` takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut(text: str, columns: int) -> str:
    """The beginning of `text` that takes at most so many columns, filled up with a blank where a wide one is cut."""
    if text.isascii():
        return text[: max(columns, 0)]
    taken = 0
    for i, character in enumerate(text):
        if taken + _width(character) > columns:
            return text[:i] + " " * (columns - taken)
        taken += _width(character)
    return text


@functools.lru_cache(maxsize=4096)
def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
