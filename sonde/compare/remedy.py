"""The command that would tell what one recording per side cannot.

In: the recordings of both sides, their names on the command line, and how many runs would probably do. Out: a
command line. Where the two sides ran different commands both can be run again in turns, which a busy machine
disturbs least; where the program itself was edited only more recordings of each version help.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from sonde.store.recording import Recording


def command_that_tells(
    sides: Sequence[Sequence[Recording]], names: tuple[list[str], list[str]], more_runs: int
) -> str:
    """Empty when nothing more is needed."""
    first, second = sides[0][0], sides[1][0]
    if not more_runs:
        return ""
    if first.meta.source != "run" or second.meta.source != "run":
        return "compare several traces per side: sonde diff A1 A2 A3 vs B1 B2 B3"
    before, after = (_again(r, other) for r, other in ((first, second), (second, first)))
    if before != after and before and after:
        return f"sonde prove --before {shlex.quote(before)} --after {shlex.quote(after)}"
    lists = [_numbered(side) for side in names]
    return f"record each {more_runs} times, then: sonde diff {lists[0]} vs {lists[1]}"


def _again(recording: Recording, other: Recording) -> str:
    """The command as it was run, with the variables that differ from the other side's."""
    mine, theirs = recording.meta.environment, other.meta.environment
    changed = [f"{key}={mine[key]}" for key in sorted(mine) if mine[key] != theirs.get(key)]
    unset = [f"-u {key}" for key in sorted(theirs) if key not in mine]
    prefix = ["env", *unset, *map(shlex.quote, changed)] if changed or unset else []
    return " ".join([*prefix, shlex.join(recording.meta.command)]) if recording.meta.command else ""


def _numbered(names: list[str]) -> str:
    """a.sonde → a.sonde a-*.sonde, which is how `sonde run` numbers recordings."""
    stem, suffix = os.path.splitext(names[0])
    return " ".join([*map(shlex.quote, names), f"{shlex.quote(stem)}-*{suffix}"])
