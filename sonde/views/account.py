"""`account`: the time of a step, divided without a remainder into lines × kinds of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sonde.insights.account import account
from sonde.insights.floors import headroom
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from sonde.views.columns import Column, ordered
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class SliceRow:
    """Time of one line in one kind of work, per step (of a program without steps: of the run)."""

    file: Annotated[str, Column("file", meaning="file of the innermost line of the user's own code")]
    line: Annotated[int, Column("line", meaning="that line, -1 when there is none")]
    function: Annotated[str, Column("function", meaning="the function that it is in")]
    place: Annotated[str, Column("place", meaning="function, file and line for people")]
    modules: Annotated[
        str | None, Column("modules", meaning="innermost modules around it, most time first, comma-separated")
    ]
    kind: Annotated[str, Column("kind", meaning="kind of work, one short word")]
    work: Annotated[str, Column("work", meaning="the same for people")]
    ms: Annotated[float, Column("wall", "ms", "wall time of the stepping thread")]
    share: Annotated[float, Column("share", "share", "of the whole step")]
    own_share: Annotated[
        float | None, Column("of the rest", "share", "of the step without what other programs took")
    ]
    cpu_ms: Annotated[float, Column("CPU, all threads", "ms", "CPU time of all threads that worked for it")]
    samples: Annotated[int, Column("samples", "count", "samples that it rests on")]
    floor_ms: Annotated[
        float | None, Column("floor", "ms", "least time that its result needs; null: not known")
    ]
    reason: Annotated[str, Column("why", meaning="why the floor is that, or why it is not known")]


@dataclass(frozen=True)
class AccountAnswer:
    """Slices, largest first; their `ms` sum to `whole_ms`."""

    unit: str | None  # step or run; None: no account
    units: int
    whole_ms: float
    own_ms: float  # without what other programs took
    samples: int
    library_lines: bool  # the program is one call of a library: lines are the library's
    kinds: dict[str, float]  # share of the whole by kind
    rows: list[SliceRow]
    needed_ms: float | None = None  # floors, and slices whose floor is not known
    unknown_ms: float | None = None  # of that: slices whose floor is not known
    missing: str | None = None  # why there is no account


def data(recording: Recording, options: ShowOptions) -> AccountAnswer:
    subject = Subject(recording)
    try:
        found = account(subject)
    except NotEnough as missing:
        return AccountAnswer(None, 0, 0.0, 0.0, 0, False, {}, [], missing=str(missing))
    room = headroom(subject, found)
    rows = [
        SliceRow(
            s.place.file,
            s.place.line,
            s.place.function,
            s.place.label,
            ", ".join(s.modules) or None,
            s.kind,
            s.title,
            s.ns / 1e6,
            s.share,
            s.ns / found.own_ns if found.own_ns > 0 and s.kind != "taken" else None,
            s.cpu_ns / 1e6,
            s.samples,
            None if floor.ns is None else floor.ns / 1e6,
            floor.reason,
        )
        for s, floor in zip(found.slices, room.floors, strict=True)
    ]
    return AccountAnswer(
        found.unit,
        found.units,
        found.whole_ns / 1e6,
        found.own_ns / 1e6,
        found.samples,
        found.from_library,
        found.kinds(),
        ordered(rows, SliceRow, options.sort, "ms"),
        room.needed_ns / 1e6,
        room.unknown_ns / 1e6,
    )
