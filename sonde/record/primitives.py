"""After the run: captured verbose lines → the table `primitives`, joined to operators.

Each capture has the offset between the wall clock, in which oneDNN stamps its
lines, and CLOCK_MONOTONIC, measured at both ends; the middle is taken, half the
difference is the uncertainty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde.analyze.primitives import with_ops
from sonde.columns import Table
from sonde.errors import SondeError
from sonde.importers import onednn_log
from sonde.record.observe.primitives import split_output
from sonde.record.roster import Roster
from sonde.store import build


@dataclass(frozen=True)
class Primitives:
    """What the captures of a run gave."""

    table: Table
    losses: Table
    versions: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    uncertainty_ns: int = 0


def read_primitives(raw: Path, roster: Roster, ops: Table) -> Primitives:
    """Read every capture in `raw`; `ops` are those of the same windows, with FLOPs."""
    parts, losses = [], []
    versions: dict[str, str] = {}
    details: dict[str, Any] = {}
    uncertainty = 0
    for path, line in _captures(raw):
        process = roster.process(int(path.name.split(".")[0]))
        log = path.with_name(f"{path.name.split('.')[0]}.primitives-{line['capture']}.log")
        first, last = line["epoch_offset_start_ns"], line["epoch_offset_end_ns"]
        try:
            found = onednn_log.read(log, process, (first + last) // 2)
        except SondeError as error:
            losses.append(_loss(process, "primitives_empty", str(error)))
            continue
        parts.append(found.table("primitives"))
        losses.append(found.table("losses"))
        versions |= found.meta.versions
        details |= found.meta.details
        uncertainty = max(uncertainty, abs(last - first) // 2 + found.meta.clock.sources["onednn"])
    table = build.concat("primitives", parts)
    table = table.with_columns(primitive=np.arange(len(table), dtype=np.int64))
    if len(table):
        table = with_ops(table, ops, roster.threads())
    return Primitives(table, build.concat("losses", losses), versions, details, uncertainty)


def left_output(raw: Path) -> bytes:
    """What the program printed inside a capture that never ended, so that it can still be shown.

    Verbose lines are taken out; the file goes away, since it must not be shown twice.
    """
    found = []
    for path in sorted(raw.glob("*.primitives-*.out")):
        try:
            found.append(split_output(path.read_bytes())[1])
            path.unlink()
        except OSError:
            continue
    return b"".join(found)


def _captures(raw: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(raw.glob("*.primitives.jsonl")):
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
                yield (
                    path,
                    {k: int(line[k]) for k in ("capture", "epoch_offset_start_ns", "epoch_offset_end_ns")},
                )
            except (ValueError, KeyError, TypeError):
                continue  # the process died while it wrote this line; its log has no clock


def _loss(process: int, cause: str, detail: str) -> Table:
    return build.table(
        "losses", process=[process], cause=[cause], count=[1], unit=["windows"], detail=[detail]
    )
