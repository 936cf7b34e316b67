"""`losses`: everything that is known to be missing or doubtful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sonde.store.recording import Recording
from sonde.views.columns import Column, ordered
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class LossRow:
    """One cause of loss."""

    cause: Annotated[str | None, Column("cause", meaning="what was lost, or is uncertain")]
    count: Annotated[int, Column("count", "count", "how much, in `unit`")]
    unit: Annotated[str | None, Column("unit", meaning="what `count` counts: samples, events, bytes, …")]
    detail: Annotated[str | None, Column("detail", meaning="why, in words")]


@dataclass(frozen=True)
class Losses:
    rows: list[LossRow]


def data(recording: Recording, options: ShowOptions) -> Losses:
    """Most first."""
    losses = recording.table("losses")
    columns = (losses.text("cause"), losses.array("count"), losses.text("unit"), losses.text("detail"))
    rows = [LossRow(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    return Losses(ordered(rows, LossRow, options.sort, "count"))
