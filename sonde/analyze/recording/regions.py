"""What each named region of a program cost: time, steps, operators, the heaviest line of the user's own code.

In: marks, samples, threads, stacks and frames. Out: `RegionCost` per region name, in the order of their starts. A
region that ran several times is summed up. Threads of the same process count while the region is open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.places import Place, places_of
from sonde.analyze.base.grouping import rows_of
from sonde.analyze.samples.operators_on_stack import stack_operators
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Array, Table


@dataclass(frozen=True)
class RegionCost:
    """Shares are of `cpu_ns`; `median_step_ns` is None where no step lies inside."""

    name: str
    wall_ns: int
    cpu_ns: int
    samples: int
    steps: int
    median_step_ns: float | None
    operators: dict[str, float]  # share of CPU time by innermost operator
    place: Place | None  # of the user's line with most CPU time
    place_share: float
    graph_breaks: int
    recompiles: int


def region_costs(
    marks: Table, samples: Table, threads: Table, stacks: Table, frames: Table
) -> list[RegionCost]:
    """The cost of every mark of kind region."""
    regions = marks.take(marks.text("kind").equals("region"))
    process = _process_of(samples, threads)
    operators = stack_operators(samples, stacks, frames)
    index = StackIndex(frames, stacks)
    row = rows_of(stacks.array("stack"), samples.array("stack"))
    on_cpu = ~samples.text("state").equals("waiting")
    time_ns, weight = samples.array("time_ns"), samples.array("weight_ns")
    found = []
    names = regions.text("name").tolist()
    for name in dict.fromkeys(n for n in names if n):
        spans = regions.take(np.array([n == name for n in names], np.bool_))
        inside = np.zeros(len(samples), np.bool_)
        for start, end, owner in _spans(spans):
            inside |= (time_ns >= start) & (time_ns < end) & (process == owner)
        inside &= on_cpu
        cpu_ns = int(weight[inside].sum())
        lengths = _inside(marks, spans, "step", None)
        place, share = _heaviest(index, row[inside], weight[inside])
        found.append(
            RegionCost(
                name,
                int((spans.array("end_ns") - spans.array("start_ns")).sum()),
                cpu_ns,
                int(inside.sum()),
                len(lengths),
                float(np.median(lengths)) if len(lengths) else None,
                _shares(operators.take(np.flatnonzero(inside)).tolist(), weight[inside], cpu_ns),
                place,
                share,
                len(_inside(marks, spans, "compile", "graph_break")),
                _recompiles(marks, spans),
            )
        )
    return found


def _process_of(samples: Table, threads: Table) -> Array:
    at = rows_of(threads.array("thread"), samples.array("thread"))
    found: Array = np.append(threads.array("process").astype(np.int64), -1)[at]
    return found


def _spans(spans: Table) -> list[tuple[int, int, int]]:
    columns = (spans.array(c).tolist() for c in ("start_ns", "end_ns", "process"))
    return list(zip(*columns, strict=True))


def _within(marks: Table, spans: Table, kind: str) -> Table:
    inside = np.zeros(len(marks), np.bool_)
    start, end = marks.array("start_ns"), marks.array("end_ns")
    for begin, finish, owner in _spans(spans):
        inside |= (start >= begin) & (end <= finish) & (marks.array("process") == owner)
    return marks.take(inside & marks.text("kind").equals(kind))


def _inside(marks: Table, spans: Table, kind: str, name: str | None) -> Array:
    """Lengths of the marks of that kind (and name) inside the spans."""
    rows = _within(marks, spans, kind)
    if name is not None:
        rows = rows.take(rows.text("name").equals(name))
    found: Array = rows.array("end_ns") - rows.array("start_ns")
    return found


def _recompiles(marks: Table, spans: Table) -> int:
    extras = _within(marks, spans, "compile").text("extra").tolist()
    return sum('"recompile_reason"' in (extra or "") for extra in extras)


def _shares(names: list[str | None], weight: Array, whole: int) -> dict[str, float]:
    sums: dict[str, int] = {}
    for name, ns in zip(names, weight.tolist(), strict=True):
        if name is not None:
            sums[name] = sums.get(name, 0) + ns
    return {name: ns / whole for name, ns in sorted(sums.items(), key=lambda item: -item[1])} if whole else {}


def _heaviest(index: StackIndex, row: Array, weight: Array) -> tuple[Place | None, float]:
    known = row >= 0
    whole = float(weight.sum())
    if not known.any() or whole <= 0:
        return None, 0.0
    per_stack = np.bincount(row[known], weight[known], minlength=len(index) + 1)[: len(index)]
    places = places_of(index, per_stack)
    sums = np.bincount(places.of_stack[: len(index)], per_stack, minlength=len(places.all))
    order = [int(i) for i in np.argsort(-sums) if places.all[int(i)].file]
    return (places.all[order[0]], float(sums[order[0]] / whole)) if order else (None, 0.0)
