"""After the run: captured verbose lines → the table `primitives`.

native/lines put the time and the thread in front of each line when it was printed,
which the libraries do when a call has ended; so a call begins its own time before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.columns import Table
from sonde.errors import SondeError
from sonde.ingest.observers.roster import Roster
from sonde.ingest.verbose import onednn_log
from sonde.store import build
from sonde.store.losses import Loss, loss_table


@dataclass(frozen=True)
class Primitives:
    """What the captures of a run gave."""

    table: Table
    losses: Table
    versions: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def read_primitives(raw: Path, roster: Roster) -> Primitives:
    """Read the log of every process in `raw`."""
    parts, losses = [], []
    versions: dict[str, str] = {}
    details: dict[str, Any] = {}
    for pid, _, path in rawfolder.PRIMITIVES.find(raw):
        process = roster.process(pid)
        if not path.stat().st_size:
            continue  # a process that never called one of the libraries
        try:
            found, tids = onednn_log.read_stamped(path, process)
        except SondeError as error:
            losses.append(loss_table([Loss(process, "primitives_empty", 1, "windows", str(error))]))
            continue
        number = {tid: roster.thread(process, tid) for tid in np.unique(tids).tolist()}
        threads = np.array([number[tid] for tid in tids.tolist()], np.int32)
        parts.append(found.table("primitives").with_columns(thread=threads))
        losses.append(found.table("losses"))
        versions |= found.meta.versions
        details |= found.meta.details
    table = build.concat("primitives", parts)
    table = table.with_columns(primitive=np.arange(len(table), dtype=np.int64))
    return Primitives(table, build.concat("losses", losses), versions, details)
