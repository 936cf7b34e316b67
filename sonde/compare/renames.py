"""The same code in two versions of a program: lines that moved, functions that were renamed.

In: functions and lines of each side as (file, function, line) with their weight and what they
call. Out: for side B, the name that side A uses. A function counts as renamed when it
exists on one side only, in the same file, and its name or what it calls is like that of
one that exists on the other side only; such rows are marked "renamed?".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

LEAST_NAME_LIKENESS = 0.6
LEAST_CALLEE_LIKENESS = 0.5
FARTHEST_LINES = 40  # a similar name this far away is another function

Function = tuple[str, str]  # file, name


@dataclass
class Seen:
    """A function on one side: time by line, and the names that it calls."""

    lines: dict[int, float] = field(default_factory=dict)
    callees: set[str] = field(default_factory=set)


def renamed_functions(a: Mapping[Function, Seen], b: Mapping[Function, Seen]) -> dict[Function, Function]:
    """Function of B → the function of A that it seems to be, best matches first, each used once."""
    gone, new = [f for f in a if f not in b], [f for f in b if f not in a]
    scored = []
    for old in gone:
        for fresh in new:
            score = _likeness(old, a[old], fresh, b[fresh])
            if score:
                scored.append((score, old, fresh))
    found: dict[Function, Function] = {}
    for _, old, fresh in sorted(scored, key=lambda item: (-item[0], item[1], item[2])):
        if fresh not in found and old not in found.values():
            found[fresh] = old
    return found


def _likeness(old: Function, was: Seen, fresh: Function, now: Seen) -> float:
    if old[0] != fresh[0]:
        return 0.0
    name = SequenceMatcher(None, old[1], fresh[1]).ratio()
    union = was.callees | now.callees
    callees = len(was.callees & now.callees) / len(union) if union else 0.0
    distance = abs(min(was.lines, default=0) - min(now.lines, default=0))
    if callees >= LEAST_CALLEE_LIKENESS or (name >= LEAST_NAME_LIKENESS and distance <= FARTHEST_LINES):
        return name + callees + 1.0 / (1 + distance)
    return 0.0


def moved_lines(a: Mapping[int, float], b: Mapping[int, float]) -> int:
    """By how many lines side B's version of a function stands lower than side A's.

    The shift under which most lines, and then most time, coincide; none unless it explains more than none does.
    """
    if not a or not b:
        return 0

    def shared(shift: int) -> tuple[int, float]:
        both = [line for line in a if line + shift in b]
        return len(both), sum(min(a[line], b[line + shift]) for line in both)

    best = max(sorted({there - here for here in a for there in b}, key=abs), key=shared)
    return best if shared(best)[0] > shared(0)[0] else 0
