"""Give each collective the step that it was queued in, and the line that asked for it.

The agent notes the line where Python code asks. Where it does not, the line is the user's innermost one on the stacks
that were sampled on the calling thread while the collective was under way. Collectives too short for a sample get the
line of those at the same place of other steps: as many calls after the start of the step, with the same kind and size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Array, Table, Text

MOST_CALLS = 200_000  # that are looked at one by one


def with_collective_places(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`collectives` with step, file and line."""
    calls = tables.get("collectives")
    if calls is None or not len(calls):
        return {}
    step = _steps(calls, tables["marks"]) if "marks" in tables else np.full(len(calls), -1, np.int32)
    calls = calls.with_columns(step=step)
    if not all(len(tables.get(name, ())) for name in ("samples", "stacks", "frames")):
        return {"collectives": calls}
    frames = tables["frames"]
    row = _frames(calls, tables["samples"], StackIndex(frames, tables["stacks"]))
    files, lines = frames.text("file").tolist(), frames.array("line")
    noted_file, noted_line = calls.text("file").tolist(), calls.array("line")
    known = noted_line > 0
    sampled = np.where(row >= 0, lines[np.maximum(row, 0)], -1)
    return {
        "collectives": calls.with_columns(
            file=Text.of(
                [
                    noted if told else files[r] if r >= 0 else None
                    for told, noted, r in zip(known.tolist(), noted_file, row.tolist(), strict=True)
                ]
            ),
            line=np.where(known, noted_line, sampled).astype(np.int32),
        )
    }


def _steps(calls: Table, marks: Table) -> Array:
    found = np.full(len(calls), -1, np.int32)
    steps = marks.take(marks.text("kind").equals("step"))
    process, queued = calls.array("process"), calls.array("queued_ns")
    for number in np.unique(steps.array("process")).tolist():
        mine = steps.take(steps.array("process") == number)
        mine = mine.take(np.argsort(mine.array("start_ns"), kind="stable"))
        rows = np.flatnonzero(process == number)
        at = np.searchsorted(mine.array("start_ns"), queued[rows], side="right") - 1
        inside = (at >= 0) & (queued[rows] < mine.array("end_ns")[np.maximum(at, 0)])
        found[rows] = np.where(inside, mine.array("mark")[np.maximum(at, 0)], -1)
    return found


def _frames(calls: Table, samples: Table, index: StackIndex) -> Array:
    """Row in `frames` of each call's line, -1 when it is not known."""
    found = np.full(len(calls), -1, np.int64)
    thread, begin = calls.array("thread"), calls.array("queued_ns")
    end = np.where(calls.array("end_ns") > 0, calls.array("end_ns"), np.iinfo(np.int64).max)
    own = np.append(index.user_line, -1)
    for number in np.unique(thread).tolist():
        mine = samples.take(np.flatnonzero(samples.array("thread") == number))
        mine = mine.take(np.argsort(mine.array("time_ns"), kind="stable"))
        time, stack = mine.array("time_ns"), mine.array("stack").astype(np.int64)
        stack = np.where((stack >= 0) & (stack < len(index)), stack, -1)
        line = own[stack]
        rows = np.flatnonzero(thread == number)[:MOST_CALLS]
        low = np.searchsorted(time, begin[rows])
        high = np.searchsorted(time, end[rows])
        for row, first, last in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True):
            seen = [one for one in line[first : min(last, first + 50)].tolist() if one >= 0]
            if seen:
                found[row] = seen[0]  # the program was just asking, or waits for this very one
    return _spread(found, calls)


def _spread(found: Array, calls: Table) -> Array:
    """Lines of calls without a sample, from calls at the same place of other steps."""
    kinds, sizes = calls.text("kind").codes.tolist(), calls.array("bytes").tolist()
    place: dict[tuple[int, int], int] = {}
    keys = []
    for process, step, kind, size in zip(
        calls.array("process").tolist(), calls.array("step").tolist(), kinds, sizes, strict=True
    ):
        at = place[process, step] = place.get((process, step), -1) + 1
        keys.append((at if step >= 0 else -1, kind, size))
    votes: dict[tuple[int, int, int], Counter[int]] = {}
    for key, row in zip(keys, found.tolist(), strict=True):
        if row >= 0:
            votes.setdefault(key, Counter())[row] += 1
    best = {key: counter.most_common(1)[0][0] for key, counter in votes.items()}
    return np.array([best.get(key, row) for key, row in zip(keys, found.tolist(), strict=True)], np.int64)
