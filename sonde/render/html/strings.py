"""The string table of a page, made safe to show.

Names come from programs, so they may hold anything: NUL, escape sequences,
right-to-left overrides, half a surrogate pair, a megabyte of template
arguments. Each string is interned once, with what cannot be seen made visible
and what is endless cut, so that no view has to think about it again.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.columns import Array, Text

MAX_CHARACTERS = 2000
# C0 and DEL become the visible "control pictures" block; C1, bidirectional
# controls and lone surrogates would change how their neighbours are drawn.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    """`text` with every character that cannot be shown replaced by one that can."""
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}… (+{len(text) - MAX_CHARACTERS} characters)"
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"


class Strings:
    """Interns strings for the page; code -1 is null."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._codes: dict[str, int] = {}

    def __call__(self, text: str | None) -> int:
        if text is None:
            return -1
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.values)
            self.values.append(visible(text))
        return code

    def column(self, column: Text) -> Array:
        """Codes of a text column; only values that a row uses enter the table."""
        recode = np.full(len(column.values) + 1, -1, np.int64)
        for used in np.unique(column.codes):
            if used >= 0:
                recode[used] = self(column.values[used])
        result: Array = recode[column.codes]
        return result
