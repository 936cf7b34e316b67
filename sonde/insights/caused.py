"""Who caused each host sample: the line of the forward pass that made a backward node, else the user's innermost line.

Enters: a `Subject`. Leaves: `Caused`. A sample below a backward node names the node; the windows' calls tell which line
of the forward pass made such nodes. Where several lines share one kind of node, the sample stays with the line that
called the backward pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.calls import Calls
from sonde.insights.model import NotEnough

if TYPE_CHECKING:
    from sonde.insights.subject import Subject

MOST_OF_NODE = 0.5  # of the time of all nodes of a name, in one line: then samples in it are that line's
_NODE = re.compile(r"(?:^|: |::)(\w+Backward\d*)(?:::\w+)?$")


@dataclass(frozen=True)
class Caused:
    """`place` is per host sample the row in `all`; `moved` are the samples of the backward pass that have a line."""

    all: tuple[Place, ...]
    place: Array
    moved: Mask


def caused(subject: Subject) -> Caused:
    """The place of each host sample."""
    own, at = subject.judged_stacks.places, subject.host.stack
    place = own.of_stack[at]
    nobody = Caused(own.all, place, np.zeros(len(place), np.bool_))
    try:
        lines = lines_of_nodes(subject.calls)
    except NotEnough:
        return nobody
    index = subject.stacks
    if not lines or not len(index):
        return nobody
    names = index.frames.text("name")
    of_name = [match[1] if (match := _NODE.search(v)) else "" for v in names.values]
    frame_node = np.array([*of_name, ""], np.str_)[names.codes]
    innermost = index.innermost(np.isin(frame_node, list(lines)))
    node = np.append(frame_node, "")[innermost][at]
    places, rows = list(own.all), {p: n for n, p in enumerate(own.all)}
    found = place.copy()
    functions = {(p.file, p.line): p for p in own.all}
    for name in np.unique(node).tolist():
        if name not in lines:
            continue
        file, line = lines[name]
        wanted = functions.get((file, line)) or Place(file, line, file.rpartition("/")[2])
        if wanted not in rows:
            rows[wanted] = len(places)
            places.append(wanted)
        found[node == name] = rows[wanted]
    return Caused(tuple(places), found, found != place)


def lines_of_nodes(calls: Calls) -> dict[str, tuple[str, int]]:
    """Name of a backward node → the forward line that made most of them, by time."""
    nodes = np.flatnonzero(calls.ops.text("kind").equals("backward"))
    spent: dict[str, dict[tuple[str, int], float]] = {}
    for row in nodes.tolist():
        found = _NODE.search(calls.ops.text("name")[row] or "")
        if found and not (calls.ops.text("name")[row] or "").startswith("autograd::engine"):
            by_line = spent.setdefault(found[1], {})
            by_line[calls.place(row)] = by_line.get(calls.place(row), 0.0) + float(calls.duration_ns[row])
    best = {}
    for name, by_line in spent.items():
        at = max(by_line, key=lambda line: by_line[line])
        if at[0] and by_line[at] >= MOST_OF_NODE * sum(by_line.values()):
            best[name] = at
    return best
