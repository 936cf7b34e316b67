"""Growing work: from each step to the next a line works on everything that came before and a little more.

Condition: without a backward pass, in every two steps that follow each other the line's calls are the same but for
    first operands that grow, by no more than a tenth, and those are most of the time of its calls; and a
    concatenation in each step begins with what that of the step before made. Or the line is that concatenation.
    The line, with what it calls, takes at least 10 % of the step.
Saving: most of the line (30 to 100 %): only what is new has to be computed, or written into a buffer of full length.
Not for: calls of which only a later operand grows, as a query's attention to kept keys; lengths that vary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sonde.columns import Array
from sonde.insights.calls import Calls, elements, parsed
from sonde.insights.line_signs import trains
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import INCREMENTALLY

LEAST_SHARE, LEAST_TIME = 0.10, 0.5
MOST_GROWTH = 1.1
_CAT = "aten::cat"
_BIASED = ("aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv")


class Pair(NamedTuple):
    """Rows of two steps that follow each other, in the order of time."""

    before: Array
    after: Array


def judge(subject: Subject) -> Iterator[Finding]:
    if subject.unit != "step":
        return
    calls = subject.calls
    appended = _appended(subject)
    pairs = [] if trains(subject) else _pairs(subject, calls)
    if not appended:
        return
    who = subject.caused
    places = sorted({(p.file, p.line) for p in who.all if p.file and p.line > 0})
    found = {place for place in places if place in appended or _grows(calls, pairs, *place)}
    claim = subject.host_at(found)
    # Innermost: the line of a loop stands above all that it calls.
    claim &= np.array([(p.file, p.line) in found for p in who.all], np.bool_)[who.place]
    if not claim.any() or subject.share(claim).low < LEAST_SHARE:
        return
    share = subject.share(claim)
    weight = np.bincount(who.place[claim], subject.host.weight[claim], len(who.all))
    most = who.all[int(weight.argmax())]
    short = f"{most.file.rpartition('/')[2]}:{most.line}"
    sizes = _sizes(calls, pairs, most.file, most.line)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{most.label}: {share.middle:.0%} of each step goes over all that came before again",
            why="From step to step it works on everything that came before and a little more.",
            evidence=(
                Evidence(f"it grows from step to step: {sizes}", "line", "", most.file, most.line),
                *subject.lines(claim, 3),
            ),
            saving=subject.saving(share, *INCREMENTALLY.won),
            confidence="medium",
            fix=f"# {short}: keep what was computed and add only what is new:\n"
            "#   a cache of keys and values (use_cache=True), a running result,\n"
            "#   or a buffer of the full length that each step writes one place of",
            experiment=Experiment("patch", note="compare the results of both versions"),
            file=most.file,
            line=most.line,
        ),
        claim,
    )


def _pairs(subject: Subject, calls: Calls) -> list[Pair]:
    """Of steps that follow each other and were recorded whole."""
    begin = calls.ops.array("start_ns")
    step = _step_of(subject, begin)
    known = {int(n): np.flatnonzero((step == n) & calls.main) for n in np.unique(step[step >= 0])}
    known = {n: rows[np.argsort(begin[rows], kind="stable")] for n, rows in known.items()}
    return [Pair(rows, known[n + 1]) for n, rows in known.items() if n + 1 in known]


def _step_of(subject: Subject, time_ns: Array) -> Array:
    """The step that has begun last; -1 before the first."""
    start = np.sort(subject.marks("step").array("start_ns"))
    found: Array = np.searchsorted(start, time_ns, "right") - 1
    return found


def _appended(subject: Subject) -> set[tuple[str, int]]:
    """Lines at which each step's concatenation begins with what that of the step before made."""
    ops = subject.table("ops")  # a step of inference ends with the model: what is appended comes after it
    rows = np.flatnonzero(ops.text("name").equals(_CAT))
    begin = ops.array("start_ns")
    rows = rows[np.argsort(begin[rows], kind="stable")]
    step = _step_of(subject, begin[rows])
    last: dict[tuple[str, int], tuple[int, list[Any]]] = {}
    seen: dict[tuple[str, int], list[bool]] = {}
    for row, number in zip(rows.tolist(), step.tolist(), strict=True):
        parts = (parsed(ops.text("shapes")[row]) or [None])[0]
        place = ops.text("file")[row] or "", int(ops.array("line")[row])
        if not place[0] or not _tensors(parts) or len(parts) < 2:
            continue
        if (
            place in last
            and number == last[place][0] + 1
            and elements(parts[0]) >= elements(last[place][1][0])
        ):
            seen.setdefault(place, []).append(_continues(last[place][1], parts))
        last[place] = number, parts
    return {place for place, told in seen.items() if all(told)}


def _continues(before: list[list[int]], after: list[list[int]]) -> bool:
    """Whether one concatenation begins with what the other made."""
    old, new = before[0], after[0]
    differ = [n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    if len(old) != len(new) or len(differ) != 1:
        return False
    return new[differ[0]] == sum(part[differ[0]] for part in before if len(part) == len(old))


def _grows(calls: Calls, pairs: list[Pair], file: str, line: int) -> bool:
    at = calls.below(file, line)
    good = 0
    for before, after in pairs:
        first, then = before[at[before]], after[at[after]]
        if not len(first) or _restarts(calls, first, then):
            continue
        grown = _grown(calls, first, then)
        if grown is None:
            return False
        spent, whole = float(calls.self_ns[then[grown]].sum()), float(calls.self_ns[then].sum())
        if spent < LEAST_TIME * whole or not whole:
            return False
        good += 1
    return good > 0


def _restarts(calls: Calls, first: Array, then: Array) -> bool:
    """Whether the second step begins anew: with a smaller first operand, everywhere that sizes differ."""
    if len(first) != len(then):
        return False
    a, b = (np.array([_first(calls, row) for row in rows.tolist()]) for rows in (first, then))
    return bool((b <= a).all() and (b < a).any())


def _grown(calls: Calls, first: Array, then: Array) -> Array | None:
    """Which calls of the second step have a larger first operand; None where the two steps are not the same work."""
    names = calls.ops.text("name").codes
    if len(first) != len(then) or (names[first] != names[then]).any():
        return None
    found = np.zeros(len(then), np.bool_)
    for n, (a, b) in enumerate(zip(first.tolist(), then.tolist(), strict=True)):
        old, new = _first(calls, a), _first(calls, b)
        if new < old or (new > max(MOST_GROWTH * old, old + 16) and old > 0):
            return None
        found[n] = new > old
    return found


def _tensors(parts: Any) -> bool:
    return isinstance(parts, list) and bool(parts) and all(elements(part) for part in parts)


def _first(calls: Calls, row: int) -> int:
    """Elements of the first operand, of a list of tensors its first; a bias that a product begins with is none."""
    shapes = calls.shapes(row)
    if len(shapes) > 1 and (calls.ops.text("name")[row] or "") in _BIASED:
        shapes = shapes[1:]
    if not shapes:
        return 0
    return elements(shapes[0][0]) if _tensors(shapes[0]) else elements(shapes[0])


def _sizes(calls: Calls, pairs: list[Pair], file: str, line: int) -> str:
    """The longest of the growing calls, in the last two steps."""
    at = calls.below(file, line)
    for before, after in reversed(pairs):
        first, then = before[at[before]], after[at[after]]
        grown = _grown(calls, first, then) if len(first) else None
        if grown is not None and grown.any():
            n = int(np.flatnonzero(grown)[calls.self_ns[then[grown]].argmax()])
            name = calls.ops.text("name")[int(then[n])]
            old, new = (calls.shapes(int(rows[n]))[name in _BIASED] for rows in (first, then))
            return f"{name} on {old}, then on {new}"
    return "what a step appends, the next one copies with all before it"


RULE = Rule(
    "growing_work", 70, "operator calls with shapes of two steps in a row", judge, scope="cpu", breadth=0,
    way="incrementally",
)  # fmt: skip
