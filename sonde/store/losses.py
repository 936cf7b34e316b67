"""What a recording lacks: one `Loss` per row of the table `losses`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sonde.columns import Table
from sonde.store import build


@dataclass(frozen=True)
class Loss:
    """So many of something are missing, or doubtful, for this cause."""

    process: int  # -1: of the recording as a whole
    cause: str
    count: int
    unit: str
    detail: str


def loss_table(losses: Iterable[Loss]) -> Table:
    """The table of `losses`, in their order."""
    rows = list(losses)
    return build.table(
        "losses",
        len(rows),
        process=[row.process for row in rows],
        cause=[row.cause for row in rows],
        count=[row.count for row in rows],
        unit=[row.unit for row in rows],
        detail=[row.detail for row in rows],
    )
