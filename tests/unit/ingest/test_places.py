"""Lines of the Python code that asked for collectives, from what the agent noted of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from sonde.ingest.observers.collectives import calls_of
from sonde.ingest.observers.events import of
from sonde.ingest.observers.places import Line, lines_of_places
from sonde.record.inside.events import COLLECTIVE_FROM, COLLECTIVE_MADE, COLLECTIVE_QUEUED

VERSION = ".".join(map(str, sys.version_info[:3]))


def asks() -> None:
    value = 1
    print(value)  # line 2 of it


def noted(number: int, instruction: int, version: str = VERSION) -> str:
    code = asks.__code__
    table = getattr(code, "co_linetable", b"").hex()
    return f"{number}\t{version}\ttrain.py\tasks\t{code.co_firstlineno}\t{instruction}\t{table}\n"


def instruction_of(line: int) -> int:
    return next(start for start, _, at in asks.__code__.co_lines() if at == line)


def test_the_line_comes_from_the_codes_own_table(tmp_path: Path) -> None:
    first = asks.__code__.co_firstlineno
    path = tmp_path / "7.places.tsv"
    rows = [noted(5, instruction_of(first + 2)), f"6\t{VERSION}\n", noted(7, 0, "4.0.0"), "torn\t3.11.7\ttra"]
    path.write_text("".join(rows))
    assert lines_of_places(path) == {5: Line("train.py", first + 2), 7: Line("train.py", first)}
    assert lines_of_places(tmp_path / "8.places.tsv") == {}


def test_each_collective_gets_the_line_of_its_own_asking() -> None:
    rows = []
    for at, place in enumerate((50, 60, 0)):  # one address, used again; the last was asked by no Python code
        rows.append((1, COLLECTIVE_MADE, 100 * at + 1, 100 * at + 1, 9000, 1 | 6 << 8 | at << 16))
        rows.append((1, COLLECTIVE_QUEUED, 100 * at + 2, 100 * at + 2, 9000, 7000))
        if place:
            rows.append((1, COLLECTIVE_FROM, 100 * at + 3, 100 * at + 3, 9000, place))
    lines = {50: Line("a.py", 3), 60: Line("b.py", 4)}
    assert calls_of(of(np.array(rows)), lines).line == [lines[50], lines[60], None]
