"""What a block of memory is for: parameter, gradient, optimizer state, activation, input or temporary.

By address where the program's own tensors are known (marks of kind "tensors", listed once per window by
the optimizer's hook), else by its life. A block of the forward pass that lives into the
backward pass is an activation; one that a DataLoader made is input; one that dies in the phase
(or inference) that made it is temporary; one that was there when the window began and that
`zero_grad` frees is a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde import json_text
from sonde.analyze.base.grouping import rows_of
from sonde.columns import Array, Table, Text

CATEGORIES = ("parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "unknown")
LISTED = ("parameter", "gradient", "optimizer_state")


@dataclass(frozen=True)
class KnownTensors:
    """Addresses of parameters, gradients and optimizer state at one moment of a window."""

    time_ns: int
    address: Array
    bytes: Array
    category: list[str] = field(default_factory=list)
    process: int = 0


def categorise(found: Table, marks: Table, known: list[KnownTensors]) -> Text:
    """The category of each block."""
    start, end = found.array("start_ns"), found.array("end_ns")
    index = {name: i for i, name in enumerate(CATEGORIES)}
    codes = np.full(len(found), index["unknown"], np.int32)
    phases = marks.take(marks.text("kind").equals("phase"))
    for process in np.unique(found.array("process")).tolist():
        mine = np.flatnonzero(found.array("process") == process)
        ours = phases.take(phases.array("process") == process)
        older = found.array("older")[mine]
        codes[mine] = _by_life(start[mine], end[mine], older, ours, index)
    for tensors in known:
        alive = np.flatnonzero(
            (start <= tensors.time_ns) & (end > tensors.time_ns) & (found.array("process") == tensors.process)
        )
        at = rows_of(tensors.address, found.array("address")[alive])
        hit = at >= 0
        codes[alive[hit]] = [index.get(tensors.category[i], index["unknown"]) for i in at[hit].tolist()]
    return Text(codes, list(CATEGORIES))


def known_tensors(marks: Table) -> list[KnownTensors]:
    """The tensors that the program's optimizers hold, as marks of kind "tensors" give them."""
    result = []
    for row in np.flatnonzero(marks.text("kind").equals("tensors")).tolist():
        groups = json_text.object_of(marks.text("extra")[row])
        pairs = [(name, pair) for name in LISTED for pair in json_text.items(groups.get(name))]
        rows = [
            (json_text.whole(pair[0]), json_text.whole(pair[1]), name)
            for name, pair in pairs
            if isinstance(pair, list) and len(pair) == 2
        ]
        address, size, category = zip(*rows, strict=True) if rows else ((), (), ())
        result.append(
            KnownTensors(
                int(marks.array("start_ns")[row]),
                np.array(address, np.int64),
                np.array(size, np.int64),
                list(category),
                int(marks.array("process")[row]),
            )
        )
    return result


def _by_life(start: Array, end: Array, older: Array, phases: Table, index: dict[str, int]) -> Array:
    phases = phases.take(np.argsort(phases.array("start_ns"), kind="stable"))
    names = np.array([*phases.text("name").values, ""], dtype=object)
    born, born_end = _phase_at(phases, start)
    died, _ = _phase_at(phases, end)
    made_in, freed_in = names[born].astype(str), names[died].astype(str)
    lived_on = end > born_end
    codes = np.full(len(start), index["unknown"], np.int32)
    codes[~lived_on] = index["temporary"]
    codes[lived_on & (made_in == "forward")] = index["activation"]
    codes[np.char.startswith(made_in, "dataloader")] = index["input"]
    codes[lived_on & (made_in == "backward")] = index["gradient"]
    codes[lived_on & (made_in == "optimizer")] = index["optimizer_state"]
    codes[older] = index["unknown"]
    codes[older & (freed_in == "zero_grad")] = index["gradient"]
    return codes


def _phase_at(phases: Table, time_ns: Array) -> tuple[Array, Array]:
    """Code of the phase's name that holds each moment (-1 when none), and that phase's end."""
    start, end = phases.array("start_ns"), phases.array("end_ns")
    code = np.full(len(time_ns), -1, np.int64)
    until = np.full(len(time_ns), 0, np.int64)
    if not len(phases):
        return code, until
    at = np.searchsorted(start, time_ns, side="right") - 1
    # Phases may nest; look back over a few starts for the innermost that still runs.
    for back in range(4):
        row = np.maximum(at - back, 0)
        hit = (code < 0) & (at - back >= 0) & (end[row] > time_ns)
        code[hit] = phases.text("name").codes[row[hit]]
        until[hit] = end[row[hit]]
    return code, until
