"""Distinct frames of a recording, each with a number; shared by all its processes."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from sonde.columns import Table
from sonde.store import build


@dataclass(frozen=True)
class Frame:
    """A row of `frames`. `full_name` is None when the code has no name: `name` is then a place."""

    layer: str
    name: str
    full_name: str | None = None
    file: str | None = None
    line: int = -1
    library: str | None = None
    build_id: str | None = None
    address: int = -1
    inlined: bool = False
    runtime: bool = False


class FrameTable:
    """Interns frames."""

    def __init__(self) -> None:
        self._numbers: dict[Frame, int] = {}
        self._rows: list[Frame] = []

    def number(self, frame: Frame) -> int:
        found = self._numbers.setdefault(frame, len(self._rows))
        if found == len(self._rows):
            self._rows.append(frame)
        return found

    def __getitem__(self, number: int) -> Frame:
        return self._rows[number]

    def find(self, frame: Frame) -> int:
        """Its number, -1 when it did not occur."""
        return self._numbers.get(frame, -1)

    def rows(self) -> list[Frame]:
        return self._rows

    def table(self) -> Table:
        names = list(Frame.__dataclass_fields__)
        columns = list(zip(*map(attrgetter(*names), self._numbers), strict=True)) or [()] * len(names)
        return build.table(
            "frames",
            len(self._numbers),
            frame=range(len(self._numbers)),
            **dict(zip(names, columns, strict=True)),
        )
