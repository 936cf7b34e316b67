"""The programs of the diagnosis exam: what is wrong in each, on which lines, which kinds and ways are right answers.

Two sets, each written by someone who had not read the rules, and frozen with a hash before the rules saw it:
    first   NAME.py is repaired with --fixed; the lines of the mistake are marked `# !`; expected.tsv has kinds and ways
    second  NAME.py and NAME_fixed.py; answers.json has lines, kinds, ways and the steps' times that its author measured
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

FIRST = Path(__file__).parents[1] / "workloads" / "diagnosis"
SECOND = FIRST / "second"
TRAINERS = Path(__file__).parents[2] / ".make" / "environments" / "trainers" / "bin" / "python"
FROZEN = {
    "first": "5d56e09bd92d4fd3992e88893bc25c6c71f2fc2297774ccc70ada60495ec75b2",
    "second": "ce09c15dc2621f84e427d4446c21f1e6c2c3156b39a669cd0e52a61a326b329b",
}
# The sets speak as the account's table does; these are its stable keys.
KINDS = {
    "arithmetic": "arithmetic", "memory traffic": "memory", "copies and layout": "copies", "random numbers": "random",
    "gather and scatter": "gather", "allocation and page faults": "allocation", "python": "python",
    "dispatch": "dispatch", "autograd": "autograd", "autograd bookkeeping": "autograd", "loading": "loading",
    "i/o": "io", "gc": "gc", "locks and gil": "locks", "barriers and imbalance": "barriers", "sleep": "sleep",
    "waiting": "waiting", "compiling": "compiling", "debugging and tracing": "debugging",
    "taken away by others": "taken",
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """One program with a mistake."""

    name: str
    file: Path
    repaired: tuple[str, ...]  # file and words
    lines: frozenset[int]
    kinds: frozenset[str]
    ways: frozenset[str]
    in_catalogue: bool
    python: str = sys.executable
    measured: float | None = None  # the saving of the repair as its author measured it


def programs(which: str) -> dict[str, Program]:
    """The programs of a set, by name."""
    return _first() if which == "first" else _second()


def digest(which: str) -> str:
    """Hash of all that belongs to a set."""
    folder, more = (FIRST, "expected.tsv") if which == "first" else (SECOND, "answers.json")
    found = hashlib.sha256()
    for path in [*sorted(folder.glob("*.py")), folder / more]:
        found.update(path.read_bytes())
    return found.hexdigest()


def marked_lines(source: str) -> frozenset[int]:
    """Lines that hold the mistake."""
    return frozenset(n for n, line in enumerate(source.splitlines(), 1) if line.rstrip().endswith("# !"))


def _first() -> dict[str, Program]:
    found = {}
    with (FIRST / "expected.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            file = FIRST / f"{row['program']}.py"
            found[row["program"]] = Program(
                row["program"],
                file,
                (str(file), "--fixed"),
                marked_lines(file.read_text(encoding="utf-8")),
                frozenset(KINDS[k] for k in row["kinds"].split(",")),
                frozenset(row["ways"].split(",")),
                row["catalogue"] == "yes",
            )
    return found


def _second() -> dict[str, Program]:
    found = {}
    for row in json.loads((SECOND / "answers.json").read_text(encoding="utf-8")):
        name = row["name"]
        found[name] = Program(
            name,
            SECOND / f"{name}.py",
            (str(SECOND / f"{name}_fixed.py"),),
            frozenset(row["line"]),
            frozenset(KINDS[k.lower()] for k in row["kind"]),
            frozenset(row["way"]),
            not row["outside_catalogue"],
            str(TRAINERS) if row["interpreter"] == "trainers" else sys.executable,
            1 - row["step_ms_fixed"] / row["step_ms"],
        )
    return found
