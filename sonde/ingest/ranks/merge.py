"""Several recordings of one job → one recording, each with processes of its own.

Enters: recordings that know nothing of each other. Leaves: one whose identities (process, thread, op, kernel,
launch, mark) are moved so that they stay distinct and every link points where it did. Times are left as they
are: whether the clocks of two ranks agree is for `sonde.analyze.ranks.alignment` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonde.columns import Column, Table
from sonde.store import build
from sonde.store.recording import Recording
from sonde.store.schema import TABLES

_IDENTITY = {name: spec.identity for name, spec in TABLES.items() if spec.identity}


def merged(recordings: Sequence[Recording]) -> Recording:
    """One recording with the rows of all; meta is the first one's, with every program named."""
    offsets = dict.fromkeys(_IDENTITY, 0)
    parts: dict[str, list[Table]] = {name: [] for name in TABLES}
    for recording in recordings:
        tables = {name: recording.table(name) for name in TABLES}
        for name, table in tables.items():
            parts[name].append(_moved(table, TABLES[name].references, offsets))
        for name, column in _IDENTITY.items():
            offsets[name] += int(tables[name].array(column).max(initial=-1)) + 1
    first = recordings[0].meta
    programs = [r.meta.program for r in recordings]
    meta = replace(
        first,
        program=first.program if len(programs) == 1 else f"{first.program} and {len(programs) - 1} more",
        duration_s=max(r.meta.duration_s for r in recordings),
        details={**first.details, "merged": programs},
    )
    return Recording(meta, {name: build.concat(name, found) for name, found in parts.items()})


def _moved(table: Table, points_to: dict[str, str], offsets: dict[str, int]) -> Table:
    changed: dict[str, Column] = {}
    for column, target in points_to.items():
        values = table.array(column)
        if offsets[target]:
            changed[column] = np.where(values >= 0, values + offsets[target], values).astype(values.dtype)
    return table.with_columns(**changed) if changed else table
