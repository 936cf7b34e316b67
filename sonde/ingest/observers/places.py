"""raw/PID.places.tsv → the lines of Python code that asked for something (native/agent/steps/asked_from.h)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sonde.symbols.linetable import line_of

KNOWN_MINORS = range(10, 15)  # of Python 3, whose line tables can be read


class Line(NamedTuple):
    """Where it was asked."""

    file: str
    number: int


def lines_of_places(path: Path) -> dict[int, Line]:
    """By the place's number; places without code of the user's are left out, as are lines that make no sense."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    found: dict[int, Line] = {}
    for row in text.split("\n"):
        words = row.split("\t")
        if len(words) != 7:
            continue
        place, version, file, _, first_line, instruction, table = words
        try:
            minor = int(version.split(".")[1])
            first = int(first_line)
            known = bytes.fromhex(table) if minor in KNOWN_MINORS else b""
            line = line_of(known, first, int(instruction), minor) if known else first
            found[int(place)] = Line(file, line)
        except (ValueError, IndexError):
            continue
    return found
