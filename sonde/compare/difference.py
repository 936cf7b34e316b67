"""What changed between two sides: a verdict on step time, then where the difference is, row by row.

In: one or several recordings per side, and earlier ones that are like those of a side. Out: `Difference`. Verdict and
rows cover the differences between runs of one program: measured across recordings where both sides have several, else
by a scatter that starts from a prior (`judgement`). Rows of all dimensions are one family of
tests; Benjamini–Hochberg keeps false discoveries among them to 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.compare.fusion import contained_in
from sonde.compare.judgement import OWN, Judgement, judged
from sonde.compare.matching import match
from sonde.compare.pace import Pace
from sonde.compare.places import program_root
from sonde.compare.profile import Profile, fused_in, has_steps, pace_of, profile
from sonde.compare.rows import Conditions, Row, compared_rows
from sonde.store.recording import Recording


@dataclass(frozen=True)
class Difference:
    """The verdict (B against A, by step time or else run time) and the rows."""

    judgement: Judgement
    unit: str  # step or run
    stepless: str  # sides without steps: A, B or both; empty when steps are compared
    traces: bool  # imported, not recorded by Sonde
    rows: list[Row]
    calls: tuple[float, float] | None  # operator calls per step, where both sides counted them
    steps: tuple[
        tuple[int, ...], tuple[int, ...]
    ]  # numbers of the steps compared, of each side's first recording


def difference(
    a: Sequence[Recording], b: Sequence[Recording], earlier: Sequence[Sequence[Recording]] = ()
) -> Difference:
    """Compare two sides of recordings that are alike (see `likeness`)."""
    wanted = contained_in(ops for recording in (*a, *b) for ops in fused_in(recording.table).values())
    stepless = [n for n, side in (("A", a), ("B", b)) if not all(has_steps(r.table) for r in side)]
    by_step = not stepless
    sides = [[_profile(r, wanted, by_step) for r in side] for side in (a, b)]
    known = [_paces(group, by_step) for group in earlier]
    traces = any(r.meta.source != "run" for r in (*a, *b))
    arbitrary = traces and not by_step
    judgement = judged([p.pace for p in sides[0]], [p.pace for p in sides[1]], known, arbitrary)
    under = Conditions(judgement.scatter, judgement.measure == OWN, not arbitrary)
    rows = compared_rows(sides[0], sides[1], match(sides[0], sides[1]), under)
    unit, steps = "step" if by_step else "run", (sides[0][0].steps, sides[1][0].steps)
    return Difference(judgement, unit, " and ".join(stepless), traces, rows, _calls(*sides), steps)


def _paces(recordings: Sequence[Recording], by_step: bool) -> list[Pace]:
    return [pace_of(r.table, by_step) for r in recordings if has_steps(r.table) or not by_step]


def _profile(recording: Recording, wanted: frozenset[str], by_step: bool) -> Profile:
    meta = recording.meta
    return profile(recording.table, wanted, program_root(meta.command, meta.directory), by_step)


def _calls(a: list[Profile], b: list[Profile]) -> tuple[float, float] | None:
    """Counted work: it does not depend on the machine."""
    left, right = (sum(p.calls for p in side) / len(side) for side in (a, b))
    return (left, right) if all(p.calls > 0 for p in (*a, *b)) else None
