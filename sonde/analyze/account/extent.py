"""What an account is of: the steady steps, or the run of a thread with imports, start and end set apart.

In: `samples`, `threads`, `stacks`. Out: stretches of time. Imports are told by the import machinery on the stack:
the start ends at the moment before which imports outweigh everything else most.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.intervals import NOTHING, Spans, union
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Array, Table

_IMPORTING = r"^(_find_and_load\w*|_call_with_frames_removed|exec_module|_load_unlocked|import_module)$"


SHORTEST_NS = (
    10_000_000  # less than a sample of own code: the program did nothing but start, or failed while it did
)


def run_extent(
    samples: Table, threads: Table, thread: int, index: StackIndex, loop: tuple[str, int] | None = None
) -> Spans:
    """From the end of the imports of a thread to the last moment in which its own code ran.

    Nothing where the program did nothing else than start. Where the program's loop is known (file, line): from its
    first to its last moment, by the lines from its own on.
    """
    row = np.flatnonzero(threads.array("thread") == thread)
    if not len(row):
        return NOTHING
    begin, finish = int(threads.array("start_ns")[row[0]]), int(threads.array("end_ns")[row[0]])
    mine = np.flatnonzero(samples.array("thread") == thread)
    mine = mine[np.argsort(samples.array("time_ns")[mine], kind="stable")]
    if not len(mine) or not len(index):
        return union([begin], [finish])
    time = samples.array("time_ns")[mine]
    weight = np.maximum(samples.array("weight_ns")[mine], 0).astype(np.float64)
    weight[samples.text("reason").take(mine).equals("preempted")] = 0.0
    stack = samples.array("stack")[mine].astype(np.int64)
    stack = np.where((stack >= 0) & (stack < len(index)), stack, -1)
    importing = np.append(index.on_stack(index.frames_where(_IMPORTING, layer="^python$")), False)[stack]
    own = np.append(index.user_line >= 0, False)[stack]
    if loop is not None:
        turning = (
            index.frames_where(layer="^python$")
            & index.frames.text("file").equals(loop[0])
            & (index.frames.array("line") >= loop[1])
        )
        at = np.flatnonzero(np.append(index.on_stack(turning), False)[stack] & ~importing)
        if len(at):
            return union([int(time[at[0]])], [int(time[at[-1]] + max(weight[at[-1]], 1))])
    if not own.any():
        own[:] = True  # a native program: its start is not told apart
    # The end first: where it is longer than the program itself, it would count as part of the start.
    after = _cut(np.where(own | importing, -weight, weight)[::-1])
    before = _cut(np.where(importing | ~own, weight, -weight)[: len(time) - after])
    if before:
        begin = int(time[before - 1]) + 1
    if after:
        finish = int(time[len(time) - after])
    seen = own & (time >= begin) & (time <= finish)
    return union([begin], [finish]) if finish - begin >= SHORTEST_NS and seen.any() else NOTHING


def _cut(balance: Array) -> int:
    """How many of the first entries to leave out, so that their sum is largest; 0 when no sum is above 0."""
    sums = np.cumsum(balance)
    best = int(np.argmax(sums)) if len(sums) else 0
    return best + 1 if len(sums) and sums[best] > 0 else 0
