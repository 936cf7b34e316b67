"""The backward pass that lines of the forward pass cause: a fix of the lines wins both.

Enters: lines, the operator calls of windows (backward nodes carry the line of their forward operator) and the host
samples. Leaves: the host samples of the backward pass, and the part of its time that is the lines'.
The part is of window times, by the time of the nodes; the size of the whole pass comes from samples outside windows.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.calls import Calls
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

ENGINE = r"torch/autograd/(graph|__init__)\.py|torch/_tensor\.py"


def in_backward(subject: Subject) -> Mask:
    """Host samples of the backward pass."""
    called = subject.host_with(r"(^|\.)(backward|_engine_run_backward)$", layer="^python$", file=ENGINE)
    return called | subject.host_in_op(r"^autograd::engine")


def part_of_backward(calls: Calls, places: Collection[tuple[str, int]]) -> float:
    """Share of the backward nodes' time whose forward operators stand at these lines."""
    nodes = calls.backward & calls.main & calls.ops.text("kind").equals("backward")
    nodes &= ~calls.inside(nodes)
    files, lines = calls.ops.text("file"), calls.ops.array("line")
    mine = np.zeros(len(nodes), np.bool_)
    for file, line in places:
        mine |= files.equals(file) & (lines == line)
    whole = float(calls.duration_ns[nodes].sum())
    return float(calls.duration_ns[nodes & mine].sum()) / whole if whole else 0.0


def with_backward(subject: Subject, forward: Mask, places: Collection[tuple[str, int]]) -> Share:
    """Share of the step in `forward` and in the backward pass that its lines cause."""
    own = subject.share(forward)
    back = subject.share(in_backward(subject) & ~forward)
    part = part_of_backward(subject.calls, places)
    return Share(
        min(own.middle + part * back.middle, 1.0),
        min(own.low + part * back.low, 1.0),
        min(own.high + part * back.high, 1.0),
        own.looks,
    )
