"""Steps of a process in which no optimizer step was seen, from its outermost calls.

A process that does not train makes a step with each call of the module that took most time, up to the
end of the last call before the next one. A process that runs backward passes but no optimizer steps has
its optimizer inside a compiled function, where hooks are not called: each call of the compiled
function that took most time ends a training step; without one (weights that are updated by hand), each backward pass
does. The first step begins with the first forward pass that has gradients.
"""

from __future__ import annotations

import numpy as np

from sonde.columns import Array
from sonde.ingest.observers.events import Events
from sonde.record.inside.events import BACKWARD, COMPILED, FORWARD, FORWARD_WITHOUT_GRAD

Steps = tuple[str, Array, Array, Array]  # name, start_ns, end_ns, tid


def found_steps(events: Events) -> Steps | None:
    """The steps, or None when there is nothing that could be one."""
    backward = events.take(np.flatnonzero(events.code == BACKWARD))
    compiled = events.take(np.flatnonzero(events.code == COMPILED))
    if len(backward):
        return _of_training(backward, compiled, events.take(np.flatnonzero(events.code == FORWARD)))
    forward = np.flatnonzero(np.isin(events.code, (FORWARD, FORWARD_WITHOUT_GRAD, COMPILED)))
    return _of_inference(events.take(forward))


def _of_training(backward: Events, compiled: Events, forward: Events) -> Steps:
    steps = []
    for tid in np.unique(backward.tid).tolist():
        passes = backward.take(np.flatnonzero(backward.tid == tid))
        mine = compiled.take(np.flatnonzero(compiled.tid == tid))
        # Functions that are called once the gradients are there, or compute them: not a compiled model alone.
        later = mine.take(np.flatnonzero(mine.end_ns > passes.start_ns.min(initial=0)))
        end = later.end_ns[later.a == _longest(later)] if len(later) else passes.end_ns
        first = passes.start_ns[0]
        began = forward.start_ns[(forward.tid == tid) & (forward.start_ns < first)]
        start = np.concatenate(
            [[min(first, mine.start_ns.min(initial=first), began.min(initial=first))], end[:-1]]
        )
        steps.append((start, end, np.full(len(end), tid)))
    return ("train", *_in_order(steps))


def _of_inference(calls: Events) -> Steps | None:
    steps = []
    for tid in np.unique(calls.tid).tolist():
        mine = calls.take(np.flatnonzero(calls.tid == tid))
        anchor = np.flatnonzero(mine.a == _longest(mine))
        until = np.append(anchor[1:], len(mine)) - 1  # the last call before the next one of the anchor
        count = np.maximum(mine.b[anchor], 1)
        # A burst of short calls: as many steps of the average duration; the last takes what follows.
        each = (mine.end_ns[anchor] - mine.start_ns[anchor]) // count
        first = np.repeat(np.cumsum(count) - count, count)
        index = np.arange(len(first)) - first
        start = np.repeat(mine.start_ns[anchor], count) + index * np.repeat(each, count)
        end = start + np.repeat(each, count)
        end[np.cumsum(count) - 1] = mine.end_ns[until]
        steps.append((start, end, np.full(len(start), tid)))
    return ("inference", *_in_order(steps)) if steps else None


def _longest(calls: Events) -> int:
    """The callee (module or function) that took most time."""
    callee, at = np.unique(calls.a, return_inverse=True)
    total = np.bincount(at, weights=(calls.end_ns - calls.start_ns).astype(np.float64))
    return int(callee[np.argmax(total)])


def _in_order(steps: list[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    start, end, tid = (np.concatenate(column) for column in zip(*steps, strict=True))
    order = np.argsort(start, kind="stable")
    return start[order], end[order], tid[order]
