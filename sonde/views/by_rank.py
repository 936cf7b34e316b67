"""`--by rank`: the main figure of a view for each rank side by side, and how far ranks are apart.

A view is asked once per rank (`sonde.store.ranks.only_ranks`); its rows are matched by what they are of. Ordered by the
distance between the largest and the smallest rank, so that what differs comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sonde.errors import UsageError
from sonde.store.ranks import only_ranks, ranks_of
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.columns import Column
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class SpreadRow:
    """One thing on all ranks; a rank that does not have it counts as 0."""

    name: Annotated[str, Column("name", meaning="what the row is of")]
    median: Annotated[float, Column("median", meaning="over ranks, in `unit`")]
    least: Annotated[float, Column("least", meaning="smallest of the ranks")]
    most: Annotated[float, Column("most", meaning="largest of the ranks")]
    most_rank: Annotated[int, Column("rank", meaning="the rank that has it")]
    ranks: dict[str, float]  # by rank


@dataclass(frozen=True)
class Spread:
    """The rows of one view by rank."""

    view: str
    figure: str  # what the numbers are
    unit: str  # ms or bytes
    rows: list[SpreadRow]


# View → what the numbers are, their unit, and the pairs of name and number in its JSON.
FIGURES: dict[str, tuple[str, str]] = {
    "steps": ("median of a steady step and its phases", "ms"),
    "ops": ("self CPU time", "ms"),
    "waits": ("time off the CPU", "ms"),
    "memory": ("peak", "bytes"),
    "account": ("wall time per step", "ms"),
}


def by_rank(name: str, recording: Recording, options: ShowOptions) -> Spread:
    """The spread of a view over ranks."""
    there = ranks_of(recording)
    if not there:
        raise UsageError(
            "--by rank: this recording has no ranks", "record a job: sonde run torchrun … train.py"
        )
    values: dict[str, dict[int, float]] = {}
    plain = ShowOptions(filter=options.filter)
    for rank in there:
        answer = VIEWS[name].data(only_ranks(recording, [rank]), plain)
        for row, number in _pairs(name, answer):
            mine = values.setdefault(row, {})
            mine[rank] = mine.get(rank, 0.0) + number
    rows = [_row(row, found, there) for row, found in values.items()]
    figure, unit = FIGURES[name]
    return Spread(name, figure, unit, sorted(rows, key=lambda r: (r.least - r.most, r.name)))


def _row(name: str, found: dict[int, float], there: list[int]) -> SpreadRow:
    numbers = np.array([found.get(rank, 0.0) for rank in there])
    return SpreadRow(
        name,
        float(np.median(numbers)),
        float(numbers.min()),
        float(numbers.max()),
        there[int(numbers.argmax())],
        {str(rank): float(number) for rank, number in zip(there, numbers.tolist(), strict=True)},
    )


def _pairs(name: str, answer: dict[str, Any]) -> list[tuple[str, float]]:
    if name == "steps":
        step = [("step", answer["median_ms"])] if answer["median_ms"] is not None else []
        return step + list(answer["phase_ms"].items())
    if name == "memory":
        host = [("resident memory", h["max_rss_bytes"] or 0) for h in answer["host"]]
        return [(d["device"], d["peak_bytes"]) for d in answer["devices"]] + host
    if name == "waits":
        return [
            (f"{r['reason']} at {r['python'] or r['place'] or '?'}", r["waiting_ms"]) for r in answer["rows"]
        ]
    if name == "account":
        return [(f"{r['work']} at {r['place']}", r["ms"]) for r in answer["rows"]]
    return [(r["name"], r["self_ms"]) for r in answer["rows"]]
