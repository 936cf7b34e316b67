"""The floor of each slice of an account: the least time that its result needs, with the reason; None is unknown.

Enters: a `Subject` and its `Account`. Leaves: one `Floor` per slice. Work of the model is held against the roofs of
this machine where they were measured and operator calls were recorded; overhead and waiting compute nothing, so their
floor is 0. What is not known counts as needed, and is said to be unknown: headroom is never made up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.kinds import operator_kind
from sonde.analyze.account.slices import Account
from sonde.analyze.roofline.bounds import place
from sonde.errors import SondeError
from sonde.insights.model import NotEnough
from sonde.insights.roof import measured_roof
from sonde.insights.subject import Subject

_NOTHING = {
    "debugging": "debugging aids compute nothing that is used",
    "sleep": "sleeping computes nothing",
    "locks": "waiting computes nothing",
    "barriers": "waiting for other threads computes nothing",
    "gc": "a steady step needs no collection",
    "compiling": "compiled once, a steady step compiles nothing",
    "loading": "batches can be made while the step before runs",
    "python": "the same work in few large calls needs hardly any Python",
    "dispatch": "the same work in few large calls needs hardly any dispatch",
    "autograd": "the same work in few large calls needs hardly any bookkeeping",
    "allocation": "memory can be used again",
}
_UNKNOWN = {
    "arithmetic": "FLOPs or this machine's roofs are not known (measure them with sonde check --roof)",
    "memory": "bytes or this machine's roofs are not known (measure them with sonde check --roof)",
    "taken": "other programs had the CPU",
    "unseen": "no sample saw it",
}
ROOF = "FLOPs and bytes of the recorded calls at this machine's roofs"
UNKNOWN = "not known"


@dataclass(frozen=True)
class Floor:
    """`ns` per unit; None: not known."""

    ns: float | None
    reason: str


@dataclass(frozen=True)
class Headroom:
    """Of one unit, without what other programs took."""

    floors: tuple[Floor, ...]  # parallel to the slices
    own_ns: float
    needed_ns: float  # floors, and slices whose floor is not known
    unknown_ns: float  # of that: slices whose floor is not known

    @property
    def share(self) -> float:
        """What could be won at best, as far as it is known, of the unit's own time."""
        return 1 - self.needed_ns / self.own_ns if self.own_ns > 0 else 0.0


def headroom(subject: Subject, found: Account) -> Headroom:
    """The floor of every slice, and their sum."""
    ratios = _at_the_roof(subject, found)
    floors = []
    for one in found.slices:
        if one.kind in _NOTHING:
            floors.append(Floor(0.0, _NOTHING[one.kind]))
        elif one.kind in ratios:
            floors.append(Floor(one.ns * ratios[one.kind], ROOF))
        else:
            floors.append(Floor(None, _UNKNOWN.get(one.kind, UNKNOWN)))
    own = [(s, f) for s, f in zip(found.slices, floors, strict=True) if s.kind != "taken"]
    unknown = sum(s.ns for s, f in own if f.ns is None)
    return Headroom(
        tuple(floors), found.own_ns, unknown + sum(f.ns for _, f in own if f.ns is not None), unknown
    )


def _at_the_roof(subject: Subject, found: Account) -> dict[str, float]:
    """For each kind of kernels the time at the roof over the time taken, where both are known."""
    try:
        roof, calls = measured_roof(subject), subject.calls
    except (NotEnough, SondeError):  # not measured, or what was kept cannot be read
        return {}
    ops = calls.ops
    kinds = [operator_kind(v) for v in ops.text("name").values] + [""]
    kind = np.array(kinds, np.str_)[ops.text("name").codes]
    flops, size = ops.array("flops"), ops.array("bytes")
    known = calls.main & ops.text("kind").equals("op") & ~(np.isnan(flops) & np.isnan(size))
    ratios = {}
    for name in ("arithmetic", "memory", "copies", "gather"):
        rows = known & (kind == name)
        rows &= ~calls.inside(rows)
        taken = found.of_kind(name)
        if not rows.any() or taken <= 0:
            continue
        at = np.flatnonzero(rows)
        limit = place(flops[at], size[at], calls.duration_ns[at] / 1e6, ["f32"] * len(at), roof)
        floor_ns = float(np.nansum(np.minimum(limit.roof_ms * 1e6, calls.duration_ns[at]))) / calls.steps
        if floor_ns > 0:
            ratios[name] = min(floor_ns / taken, 1.0)
    return ratios
